"""Floor division and remainders: np.floor_divide, np.remainder, np.fmod, np.divmod.

*Floors.* While b keeps its sign, a/b is monotone in each argument and so is its floor: extremes are at corners. NumPy
computes k = ⌊a/b⌋ from fmod, which is exact, as the integer next to (a − fmod(a, b))/b. Two roundings make that off by
2⁻⁵²·|k|, so that the integer is the right one for |k| ≤ EXACT = 2⁵⁰; beyond, it is off by a few ulps.

*Remainders.* Where all corners have one floor k, which is exact, all members have it, and the remainder is a − kb: on
this piece it is increasing in a, monotone in b, with extremes at corners. NumPy's is exact except for one addition.
Elsewhere all that is known is that it lies between 0 and b; both ends may occur, as −10⁻²⁰ % 1 is rounded to 1.
"""

from functools import reduce
from typing import Final

import numpy as np

from anyformer.intervals.ends import Ends, Plain, is_point, magnitudes
from anyformer.intervals.rules.elementwise.arithmetic import negative
from anyformer.intervals.rules.rounding import ULP, lowered, outward, raised
from anyformer.intervals.rules.undefined import INFINITIES, outside, unknown

EXACT: Final = 2.0**50


def floor_divide(a: Ends, b: Ends) -> Ends:
    """np.floor_divide, a // b."""
    low, high = _extremes(np.floor_divide, a, b)
    low, high = (
        np.where(np.abs(low) <= EXACT, low, lowered(low, 8 * ULP)),
        np.where(np.abs(high) <= EXACT, high, raised(high, 8 * ULP)),
    )
    return _where_defined("np.floor_divide", Ends(low, high), a, b)


def remainder(a: Ends, b: Ends) -> Ends:
    """np.remainder, a % b, with the sign of b."""
    return _where_defined("np.remainder", _remainder(a, b), a, b)


def fmod(a: Ends, b: Ends) -> Ends:
    """np.fmod, with the sign of a: of |a| and |b|, for each sign that a may have."""
    size = Ends(*magnitudes(b))
    above = _remainder(Ends(np.maximum(a.low, 0.0), np.maximum(a.high, 0.0)), size)
    below = negative(_remainder(Ends(np.maximum(-a.high, 0.0), np.maximum(-a.low, 0.0)), size))
    low, high = np.where(a.low < 0, below.low, above.low), np.where(a.high > 0, above.high, below.high)
    return _where_defined("np.fmod", Ends(low, high), a, b)


def quotient_and_remainder(a: Ends, b: Ends) -> tuple[Ends, Ends]:
    """np.divmod: both at once."""
    return floor_divide(a, b), remainder(a, b)


def _remainder(a: Ends, b: Ends) -> Ends:
    least, greatest = _extremes(np.floor_divide, a, b)
    decided = (least == greatest) & (np.abs(least) <= EXACT)
    piece = outward(*_extremes(np.remainder, a, b))
    bottom, top = np.minimum(b.low, 0.0), np.maximum(b.high, 0.0)
    low, high = np.maximum(piece.low, bottom), np.minimum(piece.high, top)
    return Ends(np.where(decided, low, bottom), np.where(decided, high, top))


def _extremes(operation: np.ufunc, a: Ends, b: Ends) -> tuple[Plain, Plain]:
    first = (a.low,) if is_point(a) else (a.low, a.high)
    second = (b.low,) if is_point(b) else (b.low, b.high)
    results = [operation(x, y) for x in first for y in second]
    return np.asarray(reduce(np.minimum, results)), np.asarray(reduce(np.maximum, results))


def _where_defined(name: str, result: Ends, a: Ends, b: Ends) -> Ends:
    """Nothing is known for a divisor that may be 0, nor for infinite arguments."""
    shape = result.low.shape
    zero = np.broadcast_to((b.low <= 0) & (b.high >= 0), shape)
    if zero.any():
        result = unknown(result, zero, outside(name, "to divide by that are other than 0", b, zero))
    infinite = np.isinf(a.low) | np.isinf(a.high) | np.isinf(b.low) | np.isinf(b.high)
    return unknown(result, np.broadcast_to(infinite, shape), INFINITIES)
