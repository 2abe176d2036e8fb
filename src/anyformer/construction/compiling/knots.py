"""Polylines with few knots and a proved distance from a curve, as sums of ReLUs with small weights."""

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.polylines import ReluSum, gaps
from anyformer.errors import PlanError
from anyformer.programs.curves import Curve

# Points at which a curve's bend is looked at, to place knots; the proof does not depend on it.
LOOKS = 2048
MOST_PIECES = 1 << 18


def effort(curve: Curve, relative: bool = False) -> float:
    """∫ √|f″| / 4: a polyline with error ε has about effort/√ε pieces; ∫ √|f″/f| / 4 for a relative error."""
    _, density = _density(curve, relative)
    return float(density.sum()) / 4


def polyline(curve: Curve, tolerance: float, relative: bool = False) -> ReluSum:
    """A polyline within the tolerance of a curve (times |f|, if relative), with few knots.

    A centred piece of length h is off by about h²|f″|/16, so that knots are first spread evenly in ∫ √|f″|; then, as
    the error of a piece grows with h², evenly in √(proved error of the piece), until all pieces are within the
    tolerance.
    """
    cuts, density = _density(curve, relative)
    weight = density / (4 * np.sqrt(tolerance))
    fixed, spare, points = _kinks(curve, tolerance), 1.002, cuts
    while True:
        total = np.concatenate([[0.0], np.cumsum(weight)])
        pieces = max(2, int(np.ceil(total[-1] * spare)))
        if pieces > MOST_PIECES:
            raise PlanError(f"one step of the program asks for {pieces:,} hidden units, more than {MOST_PIECES:,}")
        places = np.linspace(0.0, total[-1], pieces + 1)
        knots = np.interp(places, total, points) if total[-1] > 0 else np.linspace(curve.low, curve.high, pieces + 1)
        knots[0], knots[-1] = curve.low, curve.high
        knots = np.unique(np.concatenate([knots, fixed]))
        values = curve.points(knots) + _centring(curve, knots)
        low, high = gaps(curve, knots, values)
        bound = np.maximum(-low, high) / _least(curve, knots) if relative else np.maximum(-low, high)
        if (bound <= tolerance).all():
            return anchored(knots, values)
        points, weight = knots, np.sqrt(bound / tolerance)
        spare = 1 + (spare - 1) * 1.4


def anchored(knots: Array, values: Array) -> ReluSum:
    """A polyline as slope·u + constant + ReLUs that look away from one of its pieces.

    The straight part costs nothing, since it is read together with what the curve is a function of. The piece is
    chosen so that the terms of the sum are small: then little is lost to rounding.
    """
    slopes = np.diff(values) / np.diff(knots)
    inner, bends = knots[1:-1], np.diff(slopes)
    size = np.abs(bends)
    to_right = np.append(np.cumsum((size * (knots[-1] - inner))[::-1])[::-1], 0.0)
    to_left = np.concatenate([[0.0], np.cumsum(size * (inner - knots[0]))])
    cost = to_right + to_left + np.abs(slopes) * np.abs(knots[[0, -1]]).max()
    piece = int(cost.argmin())
    slope = float(slopes[piece])
    constant = float(values[piece] - slope * knots[piece])
    signs = np.where(np.arange(len(inner)) < piece, -1.0, 1.0)
    return ReluSum(slope, constant, signs, -signs * inner, bends)


def _density(curve: Curve, relative: bool) -> tuple[Array, Array]:
    """Cuts, and √|f″|·(length) on the pieces between them: where knots should lie, as far as points tell."""
    cuts = curve.cuts(LOOKS)
    middle = (cuts[1:] + cuts[:-1]) / 2
    bend = curve.at(middle, middle).bend
    size = np.sqrt(np.maximum(np.abs(bend.low), np.abs(bend.high)))
    if relative:
        size = size / np.sqrt(np.maximum(np.abs(curve.points(middle)), 1e-300))
    return cuts, np.where(np.isfinite(size), size, 0.0) * np.diff(cuts)


def _kinks(curve: Curve, tolerance: float, rounds: int = 60, most: int = 32) -> Array:
    """Knots on both sides of every kink: so close to it that the chord between them is off by less than the tolerance,
    and so far apart that its slope is not lost to rounding."""
    cuts = curve.cuts(LOOKS)
    low, high = cuts[:-1], cuts[1:]
    for _ in range(rounds):
        bend = curve.at(low, high).bend
        unknown = ~(np.isfinite(bend.low) & np.isfinite(bend.high)) & (low > curve.low) & (high < curve.high)
        low, high = low[unknown], high[unknown]
        if not len(low) or len(low) > most * 4:
            return np.zeros(0)
        middle = low + (high - low) / 2
        if not ((low < middle) & (middle < high)).any():
            break
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    steepness = curve.steepness if np.isfinite(curve.steepness) else 0.0
    apart = min(tolerance / (2 * steepness + 1e-300), 2.0**-10 * (curve.high - curve.low))
    around = np.concatenate([low - apart, high + apart])
    # Kinks are found as several intervals that touch; of knots much closer than `apart`, one is enough.
    knots = np.sort(around[(around > curve.low) & (around < curve.high)])
    return knots[np.concatenate([[True], np.diff(knots) > apart / 2])] if len(knots) else knots


def _centring(curve: Curve, knots: Array) -> Array:
    """Chords lie on one side of the curve where f″ keeps its sign: move each knot by half of the arch beside it."""
    middle = (knots[1:] + knots[:-1]) / 2
    arch = np.diff(knots) ** 2 * curve.at(middle, middle).bend.low / 8
    arch = np.where(np.isfinite(arch), arch, 0.0)
    beside = np.concatenate([[arch[0]], (arch[1:] + arch[:-1]) / 2, [arch[-1]]])
    return np.asarray(-beside / 2)


def _least(curve: Curve, knots: Array) -> Array:
    value = curve.at(knots[:-1], knots[1:]).value
    return np.asarray(np.maximum(np.maximum(value.low, -value.high), 1e-300))
