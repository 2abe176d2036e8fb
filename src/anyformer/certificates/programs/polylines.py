"""Polylines made of ReLUs, read from their weights, and how far they are from the curves they should be."""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.programs.curves import Curve

UNIT = 2.0**-53


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
        return np.asarray(total), float(size) * (len(self.weights) + 16) * 2 * UNIT + self.doubt

    def knots(self, low: float, high: float) -> Array:
        """The ends, and the kinks between them."""
        kinks = self.kinks
        inside = kinks[(kinks > low) & (kinks < high)]
        return np.unique(np.concatenate([[low], inside, [high]]))

    def activations(self, low: float, high: float) -> Array:
        """The largest activation of every unit on an interval."""
        return np.asarray(np.maximum(np.maximum(self.signs * low, self.signs * high) + self.offsets, 0.0))


@dataclass(frozen=True)
class Deviation:
    """How far a polyline is from a curve: absolutely, and relative to the curve (infinite if that may be 0)."""

    absolute: float
    relative: float
    largest: float
    """A bound of the polyline's magnitude."""


def deviation(line: ReluSum, curve: Curve, room: float, extra: float = 0.0) -> Deviation:
    """A proved bound of |polyline − curve|, on the curve's interval and `room` beyond both ends; `extra` is added."""
    knots = line.knots(curve.low, curve.high)
    values, rounding = line.values(knots)
    inside = _on_pieces(curve, knots, values) + rounding + extra
    piece = curve.at(knots[:-1], knots[1:]).value
    least = np.maximum(np.maximum(piece.low, -piece.high), 0.0)
    absolute, largest = float(inside.max()), float(np.abs(values).max()) + rounding
    with np.errstate(divide="ignore"):
        relative = float((inside / least).max())
    for end, far in ((curve.low, curve.low - room), (curve.high, curve.high + room)):
        beyond = _beyond(line, curve, end, far, extra)
        absolute, relative, largest = (
            max(one, other)
            for one, other in zip((absolute, relative, largest), beyond, strict=True)
        )
    return Deviation(absolute, relative, largest)


def _on_pieces(curve: Curve, knots: Array, values: Array) -> Array:
    """The largest distance on every piece between knots.

    On a piece of length h, f minus its chord is −(x−a)(b−x)f″(ξ)/2, which lies between −h²/8·sup f″ and −h²/8·inf f″ (or
    0); and chord minus polyline is linear, so between its values at the ends. Where f″ is not bounded but f′ is, f minus
    its chord is at most (sup f′ − inf f′)·h/4; where neither is, the ranges of both on the piece must do.
    """
    a, b = knots[:-1], knots[1:]
    piece, ends = curve.at(a, b), curve.at(knots, knots).value
    low = np.minimum(ends.low[:-1] - values[:-1], ends.low[1:] - values[1:])
    high = np.maximum(ends.high[:-1] - values[:-1], ends.high[1:] - values[1:])
    with np.errstate(all="ignore"):
        arch = (b - a) ** 2 / 8
        swing = (piece.slope.high - piece.slope.low) * (b - a) / 4
        swing = np.where(np.isfinite(swing), swing, np.inf)
        below = _finite_or(arch * np.maximum(piece.bend.high, 0.0), swing)
        above = _finite_or(arch * np.maximum(-piece.bend.low, 0.0), swing)
        plain_below = np.maximum(values[:-1], values[1:]) - piece.value.low
        plain_above = piece.value.high - np.minimum(values[:-1], values[1:])
        off = np.maximum(np.minimum(below - low, plain_below), np.minimum(above + high, plain_above))
    # A dozen operations on numbers of these sizes.
    return np.asarray(np.maximum(off, 0.0) * (1 + 2.0**-48) + 16 * UNIT * (np.abs(values).max() + _size(ends)))


def _beyond(line: ReluSum, curve: Curve, end: float, far: float, extra: float) -> tuple[float, float, float]:
    """Absolute and relative distance and the largest value between an end of the curve and a point beyond it.

    Both are piecewise linear there, so their distance is largest at a kink or at an end.
    """
    if far == end:
        return 0.0, 0.0, 0.0
    points = line.knots(min(end, far), max(end, far))
    values, rounding = line.values(points)
    start = curve.at(np.array([end]), np.array([end])).value
    slopes = np.array(curve.end_slope(end))
    apart = points - end
    low = start.low[0] + np.minimum(slopes[0] * apart, slopes[1] * apart)
    high = start.high[0] + np.maximum(slopes[0] * apart, slopes[1] * apart)
    off, size = float(np.maximum(values - low, high - values).max()), float(np.abs(values).max())
    worst = off * (1 + 2.0**-48) + rounding + 16 * UNIT * (size + float(np.abs([low, high]).max())) + extra
    least = max(float(low.min()), -float(high.max()), 0.0) * (1 - 2.0**-40)
    return worst, worst / least if least > 0 else np.inf, size + rounding


def _finite_or(preferred: Array, other: Array) -> Array:
    return np.asarray(np.where(np.isfinite(preferred), np.minimum(preferred, other), other))


def _size(interval: object) -> float:
    return float(max(np.abs(interval.low).max(), np.abs(interval.high).max()))  # type: ignore[attr-defined]
