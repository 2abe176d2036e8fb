"""Powers: of any base with integer exponents, of non-negative bases with real ones.

NumPy's pow is within 4 ulp like the other elementary functions, and `loosened` covers it.
"""

from functools import reduce

import numpy as np

from anyformer.intervals.ends import Ends, Plain, is_point, magnitudes
from anyformer.intervals.rules.rounding import loosened
from anyformer.intervals.rules.undefined import outside, unknown


def power(base: Ends, exponent: Ends) -> Ends:
    """base ** exponent.

    For known exponents, xⁿ with n even is monotone in |x|, with n odd in x while x keeps its sign, and otherwise
    x must not be negative and xⁿ is monotone in x. 0 has no negative power.
    """
    if not is_point(exponent):
        return _of_unknown_exponent(base, exponent)
    n = exponent.low
    even, odd = np.mod(n, 2) == 0, np.mod(n, 2) == 1
    least, greatest = magnitudes(base)
    results = [np.power(np.where(even, least, base.low), n), np.power(np.where(even, greatest, base.high), n)]
    result = loosened(np.minimum(*results), np.maximum(*results))
    result.low = np.where(~odd | (base.low >= 0), np.maximum(result.low, 0.0), result.low)
    pole = (n < 0) & (base.low <= 0) & (base.high >= 0)
    return _where_defined(result, base, np.asarray((base.low < 0) & ~even & ~odd), np.asarray(pole))


def _of_unknown_exponent(base: Ends, exponent: Ends) -> Ends:
    """x ≥ 0: xᵖ is monotone in x for every p, and in p for every x (0ᵖ is 1, 0 for p =, > 0): look at corners."""
    results = [np.power(x, p) for x in (base.low, base.high) for p in (exponent.low, exponent.high)]
    result = loosened(reduce(np.minimum, results), reduce(np.maximum, results))
    result = Ends(np.maximum(result.low, 0.0), result.high)
    negative = np.broadcast_to(base.low < 0, result.low.shape)
    return _where_defined(result, base, negative, np.asarray((exponent.low < 0) & (base.low <= 0)))


def _where_defined(result: Ends, base: Ends, negative: Plain, pole: Plain) -> Ends:
    if negative.any():
        needed = "that are at least 0, for an exponent that is no known integer"
        advice = "np.maximum(v, 0) ** p and np.abs(v) ** p are defined everywhere."
        result = unknown(result, negative, outside("a power", needed, base, negative, advice))
    if pole.any():
        result = unknown(result, pole, outside("a negative power", "other than 0", base, pole))
    return result
