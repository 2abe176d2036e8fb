"""Polylines made of ReLUs, read from their weights, and how far they are from the curves they should be."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from anyformer.arrays import Array
from anyformer.programs.curves import Curve

UNIT = 2.0**-53
# A product that underflows is off by no more than this.
TINY = 2.0**-1074


@dataclass(frozen=True, eq=False)
class ReluSum:
    """slope·u + constant + Σ weight·max(sign·u + offset, 0), with signs ±1, for real u.

    doubt: how far the function of these numbers may be from the one meant, because the numbers were rounded.
    """

    slope: float
    constant: float
    signs: Array
    offsets: Array
    weights: Array
    doubt: float = 0.0

    @property
    def kinks(self) -> Array:
        """Where a unit begins or ends."""
        return np.asarray(-self.signs * self.offsets)

    def values(self, at: Array) -> tuple[Array, float]:
        """The values at sorted points, and a bound on the error of all of them.

        Units that look right, w·(u − t)₊, add up to u·Σw − Σw·t over the kinks left of u; likewise to the left. All
        sums have at most as many roundings as there are units, each of at most the sum of all magnitudes.
        """
        total = self.slope * at + self.constant
        size = np.abs(self.slope * at).max() + abs(self.constant)
        for sign in (1.0, -1.0):
            mine = self.signs == sign
            kinks, weights = self.kinks[mine] * sign, self.weights[mine]
            order = np.argsort(kinks)
            kinks, weights = kinks[order], weights[order]
            heights = np.concatenate([[0.0], np.cumsum(weights)])
            moments = np.concatenate([[0.0], np.cumsum(weights * kinks)])
            count = np.searchsorted(kinks, sign * at, side="right")
            total = total + sign * at * heights[count] - moments[count]
            size += np.abs(weights).sum() * np.abs(at).max() + np.abs(weights * kinks).sum()
        roundings = len(self.weights) + 16
        return np.asarray(total), roundings * (2 * UNIT * float(size) + TINY) + self.doubt

    def knots(self, low: float, high: float) -> Array:
        """The ends, and the kinks between them."""
        kinks = self.kinks
        inside = kinks[(kinks > low) & (kinks < high)]
        return np.unique(np.concatenate([[low], inside, [high]]))

    def activations(self, low: float, high: float) -> Array:
        """The largest activation of every unit on an interval."""
        return np.asarray(np.maximum(np.maximum(self.signs * low, self.signs * high) + self.offsets, 0.0))


class Line(Protocol):
    """A function that is straight between its knots."""

    def knots(self, low: float, high: float) -> Array:
        """Two ends, and the knots between them."""
        ...

    def values(self, at: Array) -> tuple[Array, float]:
        """Values at points, and a bound on the error of all of them."""
        ...


@dataclass(frozen=True)
class Deviation:
    """Curve minus polyline lies between `least` and `most`; relative to the curve it is at most `relative`."""

    least: float
    most: float
    relative: float

    def __post_init__(self) -> None:
        # What is not a number is not known; NaN would pass through comparisons as if it were small.
        for name, unknown in (("least", -np.inf), ("most", np.inf), ("relative", np.inf)):
            if np.isnan(getattr(self, name)):
                object.__setattr__(self, name, unknown)

    @property
    def absolute(self) -> float:
        """The largest distance."""
        return max(-self.least, self.most)


def deviation(line: Line, curve: Curve, room: tuple[float, float]) -> Deviation:
    """Proved bounds of curve − polyline, on the curve's interval and so much room below and above it."""
    knots = line.knots(curve.low, curve.high)
    values, rounding = line.values(knots)
    low, high = gaps(curve, knots, values)
    low, high = low - rounding, high + rounding
    least = smallest(curve, knots)
    with np.errstate(all="ignore"):
        relative = float((np.maximum(-low, high) / least).max())
    found = [Deviation(float(low.min()), float(high.max()), relative)]
    # However small the room is, a number in it lies beyond the end.
    if room[0] > 0:
        found.append(_beyond(line, curve, curve.low, float(np.nextafter(curve.low - room[0], -np.inf))))
    if room[1] > 0:
        found.append(_beyond(line, curve, curve.high, float(np.nextafter(curve.high + room[1], np.inf))))
    return Deviation(
        min(one.least for one in found), max(one.most for one in found), max(one.relative for one in found)
    )


def smallest(curve: Curve, knots: Array) -> Array:
    """The least |f| on every piece with its ends, where f may be either side of a leap."""
    piece, ends = curve.at(knots[:-1], knots[1:]).value, curve.at(knots, knots).value
    low = np.minimum(piece.low, np.minimum(ends.low[:-1], ends.low[1:]))
    high = np.maximum(piece.high, np.maximum(ends.high[:-1], ends.high[1:]))
    return np.asarray(np.maximum(np.maximum(low, -high), 0.0))


def gaps(curve: Curve, knots: Array, values: Array) -> tuple[Array, Array]:
    """Bounds of curve − polyline on every piece between knots.

    On a piece of length h, f minus its chord is −(x−a)(b−x)f″(ξ)/2, which lies between −h²/8·sup f″ and −h²/8·inf f″
    (or 0); and chord minus polyline is linear, so between its values at the ends. Where f″ is not bounded but f′ is, f
    minus its chord is at most (sup f′ − inf f′)·h/4; where neither is, the ranges of both on the piece must do.
    """
    a, b = knots[:-1], knots[1:]
    piece, ends = curve.at(a, b), curve.at(knots, knots).value
    low = np.minimum(ends.low[:-1] - values[:-1], ends.low[1:] - values[1:])
    high = np.maximum(ends.high[:-1] - values[:-1], ends.high[1:] - values[1:])
    with np.errstate(all="ignore"):
        arch = np.maximum((b - a) ** 2 / 8, np.finfo(np.float64).tiny)
        swing = (piece.slope.high - piece.slope.low) * (b - a) / 4
        swing = np.where(np.isfinite(swing), swing, np.inf)
        below = low - _finite_or(arch * np.maximum(piece.bend.high, 0.0), swing)
        above = high + _finite_or(arch * np.maximum(-piece.bend.low, 0.0), swing)
        below = np.fmax(below, piece.value.low - np.maximum(values[:-1], values[1:]))
        above = np.fmin(above, piece.value.high - np.minimum(values[:-1], values[1:]))
    # Two differences of numbers of these sizes; what follows is a handful of roundings of the results, and 2^-48 is 32.
    slack = 16 * UNIT * (np.abs(values).max() + max(np.abs(ends.low).max(), np.abs(ends.high).max()))
    return below - 2.0**-48 * np.abs(below) - slack, above + 2.0**-48 * np.abs(above) + slack


def _beyond(line: Line, curve: Curve, end: float, far: float) -> Deviation:
    """The same between an end of the curve and a point beyond it.

    Both are piecewise linear there, so their distance is largest at a kink or at an end. The end itself is among the
    points, so that the largest |low|, |high| bound all terms, and each point has fewer than 16 roundings of them.
    """
    points = line.knots(min(end, far), max(end, far))
    values, rounding = line.values(points)
    start = curve.at(np.array([end]), np.array([end])).value
    slopes = np.array(curve.end_slope(end))
    apart = points - end
    low = start.low[0] + np.minimum(slopes[0] * apart, slopes[1] * apart)
    high = start.high[0] + np.maximum(slopes[0] * apart, slopes[1] * apart)
    slack = rounding + 2.0**-48 * float(np.abs(values).max() + np.abs([low, high]).max())
    least, most = float((low - values).min()) - slack, float((high - values).max()) + slack
    smallest = max(float(low.min()), -float(high.max())) - slack
    return Deviation(least, most, max(-least, most) / smallest if smallest > 0 else np.inf)


def _finite_or(preferred: Array, other: Array) -> Array:
    return np.asarray(np.where(np.isfinite(preferred), np.minimum(preferred, other), other))
