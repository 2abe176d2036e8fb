"""Elementary functions of two arguments: np.hypot, np.arctan2, np.copysign, np.logaddexp, np.logaddexp2.

NumPy takes hypot and arctan2 from the C library or from SVML, within 4 ulp of the exact value as all others; those are
`loosened`. It computes log(eˣ + eʸ) itself, as m + log1p(exp(−d)) for the greater one m and their distance d.

*Its error.* d is rounded: off by u·d, with u = 2⁻⁵³. exp is off by 8u of itself, which makes exp(−d) off by at most
(d + 8)u·exp(−d) ≤ 8.4u. log1p has a slope of at most 1 and is off by 8u of itself, which is at most 8u·log 2 < 5.6u.
The last addition is off by u of the result. Together: 14u, and u of the result. In base 2 the slope is at most
1/log 2 and the factor 1/log 2 costs two roundings more: 8.4u/log 2 + 10u < 23u. A member's value may be as far off as
our own at an end; SUM_ERROR = 64u is more than twice either.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import numpy as np

from anyformer.intervals.ends import Ends, Plain, is_point, magnitudes
from anyformer.intervals.rounding import ULP, loosened, lowered, raised
from anyformer.intervals.sums import count

SUM_ERROR: Final = 64 * 2.0**-53


def hypot(a: Ends, b: Ends) -> Ends:
    """√(a² + b²): increasing in |a| and |b|. It is 0 only where both are, and never negative."""
    (least_a, greatest_a), (least_b, greatest_b) = magnitudes(a), magnitudes(b)
    high = np.asarray(np.hypot(greatest_a, greatest_b))
    result = loosened(np.asarray(np.hypot(least_a, least_b)), high)
    return Ends(np.maximum(result.low, 0.0), np.where(high == 0, 0.0, result.high))


def arctan2(y: Ends, x: Ends) -> Ends:
    """The angle of (x, y), in (−π, π]: monotone in each argument, with extremes at corners, away from the cut.

    The cut is y = 0, x ≤ 0. There NumPy goes by the sign of the zeros, which intervals do not tell apart: an interval
    that touches the cut may have any angle.
    """
    corners = [np.arctan2(*pair) for pair in ((y.low, x.low), (y.low, x.high), (y.high, x.low), (y.high, x.high))]
    result = loosened(reduce(np.minimum, corners), reduce(np.maximum, corners))
    # To the right of 0 the angle has the sign of y, and is 0 with it.
    low = np.where(y.low >= 0, np.maximum(result.low, 0.0), result.low)
    high = np.where(y.high <= 0, np.minimum(result.high, 0.0), result.high)
    half_turn = np.nextafter(np.pi, 4.0)
    cut = np.broadcast_to((y.low <= 0) & (y.high >= 0) & (x.low <= 0), low.shape)
    low, high = np.where(cut, -half_turn, low), np.where(cut, half_turn, high)
    return Ends(np.maximum(low, -half_turn), np.minimum(high, half_turn))


def copysign(a: Ends, b: Ends) -> Ends:
    """|a| with the sign of b. Where b may be 0 it may have either sign, unless b is a known number."""
    least, greatest = magnitudes(a)
    may_be_below = np.signbit(b.low) if is_point(b) else b.low <= 0
    may_be_above = ~np.signbit(b.low) if is_point(b) else b.high >= 0
    return Ends(np.where(may_be_below, -greatest, least), np.where(may_be_above, greatest, -least))


def logaddexp(a: Ends, b: Ends) -> Ends:
    """log(eᵃ + eᵇ): increasing in both."""
    return _log_of_sum(np.logaddexp, a, b)


def logaddexp2(a: Ends, b: Ends) -> Ends:
    """log₂(2ᵃ + 2ᵇ): increasing in both."""
    return _log_of_sum(np.logaddexp2, a, b)


def _log_of_sum(function: Callable[[Plain, Plain], Plain], a: Ends, b: Ends) -> Ends:
    low, high = np.asarray(function(a.low, b.low)), np.asarray(function(a.high, b.high))
    return Ends(lowered(low, 4 * ULP, SUM_ERROR), raised(high, 4 * ULP, SUM_ERROR))


def log_of_sum_of_powers(function: np.ufunc) -> Callable[..., Ends]:
    """np.logaddexp.reduce and similar calls, for every order in which NumPy may take the entries.

    The exact value is increasing in every entry. Every step of NumPy's is off by less than SUM_ERROR/2 and u of its
    result, whose size is at most S = max |entry| + log₂ k for k entries; and no step makes the errors of its arguments
    larger, since its two slopes add up to 1. So NumPy's result is off by at most k·(SUM_ERROR/2 + u·S), and so is ours.
    """

    def reduced(a: Ends, axis: Any = 0, keepdims: bool = False) -> Ends:
        terms = max(count(a.low.shape, axis), 1)
        ends = [np.asarray(function.reduce(end, axis=axis, keepdims=keepdims)) for end in (a.low, a.high)]
        sizes = [np.where(np.isfinite(end), np.abs(end), 0.0) for end in (a.low, a.high)]
        size = np.max(np.maximum(*sizes), axis=axis, keepdims=keepdims, initial=0.0) + np.log2(terms)
        error = np.asarray(terms * (SUM_ERROR + ULP * size))
        return Ends(lowered(ends[0], ULP, error), raised(ends[1], ULP, error))

    return reduced
