"""Powers: of any base with integer exponents, of non-negative bases with real ones.

NumPy's pow is within 4 ulp like the other elementary functions, and `loosened` covers it.
"""

from functools import reduce

import numpy as np

from anyformer.intervals.ends import Ends, Plain, is_point, magnitudes
from anyformer.intervals.errors import IntervalError
from anyformer.intervals.rounding import loosened


def power(base: Ends, exponent: Ends) -> Ends:
    """base ** exponent.

    For known exponents, xⁿ with n even is monotone in |x|, with n odd in x while x keeps its sign, and otherwise
    x must not be negative and xⁿ is monotone in x.
    """
    if not is_point(exponent):
        return _of_unknown_exponent(base, exponent)
    n = exponent.low
    even, odd = np.mod(n, 2) == 0, np.mod(n, 2) == 1
    _refuse_negative(base, ~even & ~odd)
    least, greatest = magnitudes(base)
    results = [np.power(np.where(even, least, base.low), n), np.power(np.where(even, greatest, base.high), n)]
    result = loosened(np.minimum(*results), np.maximum(*results))
    result.low = np.where(~odd | (base.low >= 0), np.maximum(result.low, 0.0), result.low)
    pole = odd & (n < 0) & (base.low <= 0) & (base.high >= 0)
    return Ends(np.where(pole, -np.inf, result.low), np.where(pole, np.inf, result.high))


def _of_unknown_exponent(base: Ends, exponent: Ends) -> Ends:
    """x ≥ 0: xᵖ is monotone in x for every p, and in p for every x (0ᵖ is ∞, 1, 0 for p <, =, > 0): look at corners."""
    _refuse_negative(base, np.asarray(True))
    results = [np.power(x, p) for x in (base.low, base.high) for p in (exponent.low, exponent.high)]
    result = loosened(reduce(np.minimum, results), reduce(np.maximum, results))
    return Ends(np.maximum(result.low, 0.0), result.high)


def _refuse_negative(base: Ends, where: Plain) -> None:
    outside = (base.low < 0) & where
    if outside.any():
        low = np.broadcast_to(base.low, outside.shape)[outside].flat[0]
        raise IntervalError(
            "The function may leave its domain on this box: a power with an exponent that is no known integer needs a"
            f" base of at least 0; got one as low as {float(low)!r}."
            " np.maximum(v, 0) ** p and np.abs(v) ** p are defined everywhere."
        )
