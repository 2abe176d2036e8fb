"""np.sinc: sin(πx)/(πx), even in x, with turning points where tan(πx) = πx.

*Range.* Between turning points the function of |x| is monotone. There is one, x = k + ½ − 1/(π²k) …, for every k ≥ 1,
where the value is (−1)ᵏ/√(1 + π²x²): of those inside an interval the first two have the extreme values. Turning points
are computed to a few ulps and looked for in an interval that is longer by 10⁻⁹ of it, far more than that error; to
find one that is not there costs nothing, the function being flat. Beyond FAR the bound 1/(πx) does.

*Rounding.* y = πx is off by less than 2.3u of itself, π being rounded, too. The slope of sin(y)/y is at most 1/|y|, so
that this costs 2.3u. sin and the quotient are off by 9u of the result, which is at most 1. Together less than 12u for
a member and as much for our value at an end: ERROR = 32u is more than both.
"""

from typing import Final

import numpy as np

from anyformer.intervals.ends import Ends, Plain, magnitudes
from anyformer.intervals.rules.undefined import outside, unknown

ERROR: Final = 32 * 2.0**-53
FAR: Final = 1e6
_NEAR: Final = 1e-9
# y ↦ kπ + arctan y contracts by 1/(1 + y²) < 1/20: this many steps bring an error below 1 to below 10⁻¹⁵.
_STEPS: Final = 14


def sinc(a: Ends) -> Ends:
    """np.sinc."""
    least, greatest = magnitudes(a)
    ends = np.sinc(least), np.sinc(greatest)
    low, high = np.minimum(*ends), np.maximum(*ends)
    first = np.clip(np.floor(least), 1.0, FAR)
    first = first + (_turning(first) * (1 + _NEAR) < least)
    for k in (first, first + 1):
        at = _turning(k)
        value = np.where(at * (1 - _NEAR) <= greatest, (1 - 2 * np.mod(k, 2)) / np.sqrt(1 + np.square(np.pi * at)), low)
        low, high = np.minimum(low, value), np.maximum(high, value)
    bound = np.where(least > FAR, 1 / (np.pi * np.maximum(least, 1.0)), 1.0)
    low, high = np.where(least > FAR, -bound, low), np.where(least > FAR, bound, high)
    result = Ends(np.asarray(low - ERROR), np.asarray(np.minimum(high + ERROR, 1.0)))
    infinite = ~np.asarray(np.isfinite(np.pi * greatest))
    if not infinite.any():
        return result
    return unknown(result, infinite, outside("np.sinc", "that are finite", a, infinite))


def _turning(k: Plain) -> Plain:
    """The k-th turning point, k ≥ 1: y = kπ + arctan y, over π."""
    y = np.pi * (k + 0.5)
    for _ in range(_STEPS):
        y = np.pi * k + np.arctan(y)
    return np.asarray(y / np.pi)
