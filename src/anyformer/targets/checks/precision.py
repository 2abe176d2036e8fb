"""Is a target as accurate as declared? A function that computes in float32 jumps between neighbouring points.

A modulus bounds how far apart the values at two points are; between points that are very close it allows almost
nothing. The change that is left is the function's own rounding. So pairs of points are brought together by halving,
always keeping the half with the larger change: that finds the jumps of a rounding to float32, wherever in the function
it happens, as it finds any other jump.
"""

import numpy as np

from anyformer.arrays import Array, shown
from anyformer.errors import TargetError
from anyformer.targets.evaluation import IN_FLOAT64
from anyformer.targets.moduli import Modulus
from anyformer.targets.target import Target

_PAIRS, _PAIRS_ONE_BY_ONE = 128, 16
# From the size of the domain to the gap between two floats.
_HALVINGS = 50
# A few roundings of 2^-24 each, of numbers somewhat larger than the result.
_LIKE_FLOAT32 = 2.0**-18


def rounding(target: Target, one: Array, other: Array) -> Array:
    """By how much two evaluations of the same number may differ."""
    return 2 * target.evaluation_error * (1 + np.maximum(np.abs(one), np.abs(other)))


def hint(one: Array, other: Array) -> str:
    """Extra advice if two values that must agree differ by no more than the rounding of float32."""
    apart = float((np.abs(one - other) / (1 + np.abs(other))).max())
    return f" If they differ because it rounds to float32 inside: {IN_FLOAT64}" if apart <= _LIKE_FLOAT32 else ""


def check_precision(target: Target, modulus: Modulus, points: Array) -> None:
    """Raise TargetError if values at two points next to each other differ by more than modulus and rounding allow."""
    some = points[: _PAIRS if target.vectorised else _PAIRS_ONE_BY_ONE]
    first, second = _brought_together(target, some, np.roll(some, 1, axis=0))
    before, after = target(first), target(second)
    change, allowed = np.abs(after - before), modulus.largest_deviation(np.abs(second - first))
    excess = change - allowed - rounding(target, before, after)
    if excess.max() > 0:
        worst, token, coordinate = (int(i) for i in np.unravel_index(excess.argmax(), excess.shape))
        raise TargetError(
            f"The target {target.name!r} must be as accurate as its evaluation_error, {target.evaluation_error:.3g}"
            f" relative to 1 + |f|. Between X = {shown(first[worst])} and Y = {shown(second[worst])} its output at"
            f" token {token}, coordinate {coordinate} changes by {change[worst, token, coordinate]:.3g}, and the"
            f" modulus allows {allowed[worst, token, coordinate]:.3g}: it jumps there, or it rounds to float32 inside."
            f" {IN_FLOAT64}"
        )


def _brought_together(target: Target, first: Array, second: Array) -> tuple[Array, Array]:
    """Pairs of neighbouring points on the way from `first` to `second`, where the output changes most."""
    before, after = target(first), target(second)
    for _ in range(_HALVINGS):
        middle = (first + second) / 2
        value = target(middle)
        in_first_half = _largest(value - before) >= _largest(after - value)
        first, before = np.where(in_first_half, first, middle), np.where(in_first_half, before, value)
        second, after = np.where(in_first_half, middle, second), np.where(in_first_half, value, after)
    return first, second


def _largest(change: Array) -> Array:
    largest: Array = np.abs(change).max(axis=(1, 2), keepdims=True)
    return largest
