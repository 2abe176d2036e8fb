"""sin, cos and tan: monotone between quarter turns, so that only those inside an interval have to be found.

Turning points are found in quarter turns q = x·2/π, computed in float64. The constant and the product are each off by
half an ulp, (q − shift)/period by another: the error is below 2⁻⁵²·(|q| + 2). Looking for a turning point in an
interval that is longer by twice that on both sides finds every one. Finding one that is not there costs next to
nothing for sin and cos, which are flat there, and near a pole tan has no useful bound anyway. For |q| beyond 2⁵¹ the
margin is a whole period: nothing is known then but −1 and 1. At ±∞ there is no value.
"""

from collections.abc import Callable

import numpy as np

from anyformer.intervals.ends import Ends, Plain
from anyformer.intervals.rules.rounding import all_finite, loosened
from anyformer.intervals.rules.undefined import outside, unknown

_QUARTERS = 2 / np.pi
_FAR = 1e300


def sin(a: Ends) -> Ends:
    """sin a: greatest at 1 + 4k quarter turns, least at 3 + 4k."""
    return _wave(np.sin, a, has_top=_reaches(a, 1, 4), has_bottom=_reaches(a, 3, 4))


def cos(a: Ends) -> Ends:
    """cos a: greatest at 4k quarter turns, least at 2 + 4k."""
    return _wave(np.cos, a, has_top=_reaches(a, 0, 4), has_bottom=_reaches(a, 2, 4))


def tan(a: Ends) -> Ends:
    """tan a: increasing between its poles at 1 + 2k quarter turns; no value if there may be one inside."""
    result = loosened(np.tan(a.low), np.tan(a.high))
    pole = _reaches(a, 1, 2)
    if not pole.any():
        return result
    return unknown(result, pole, outside("np.tan", "away from π/2 + kπ", a, pole))


def _wave(function: Callable[[Plain], Plain], a: Ends, has_top: Plain, has_bottom: Plain) -> Ends:
    """Extremes are at an end or at a turning point."""
    first, last = function(a.low), function(a.high)
    result = loosened(
        np.where(has_bottom, -1.0, np.minimum(first, last)), np.where(has_top, 1.0, np.maximum(first, last))
    )
    if all_finite(first, last):
        return result
    infinite = np.isnan(first) | np.isnan(last)
    return unknown(result, infinite, outside(f"np.{function.__name__}", "that are finite", a, infinite))


def _reaches(a: Ends, shift: int, period: int) -> Plain:
    """Whether [low, high] may hold a point that is shift + k·period quarter turns for an integer k."""
    first, last = _quarters(a.low), _quarters(a.high)
    begin = (first - shift) / period - 2.0**-51 * (np.abs(first) + 2)
    end = (last - shift) / period + 2.0**-51 * (np.abs(last) + 2)
    return np.asarray(np.floor(end) >= begin)


def _quarters(x: Plain) -> Plain:
    return np.asarray(np.clip(x * _QUARTERS, -_FAR, _FAR))
