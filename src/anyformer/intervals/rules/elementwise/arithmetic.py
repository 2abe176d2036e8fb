"""Arithmetic of intervals, entry by entry. Each rule has its proof; `rounding` handles the rounding."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from anyformer.intervals.ends import Ends, Plain, ends_of, is_point, magnitudes
from anyformer.intervals.rules.rounding import (
    SMALLEST,
    SMALLEST_NORMAL,
    all_finite,
    lowered,
    outward,
    outward_finite,
    raised,
)
from anyformer.intervals.rules.undefined import INFINITIES, outside, unknown

ONE = ends_of(1.0)


def add(a: Ends, b: Ends) -> Ends:
    """a + b: increasing in both. It has no value for ∞ and −∞."""
    low, high = np.asarray(a.low + b.low), np.asarray(a.high + b.high)
    if all_finite(low, high):
        return outward_finite(low, high)
    opposite = ((a.low == -np.inf) & (b.high == np.inf)) | ((a.high == np.inf) & (b.low == -np.inf))
    return unknown(outward(low, high), np.asarray(opposite), INFINITIES)


def subtract(a: Ends, b: Ends) -> Ends:
    """a − b: increasing in a, decreasing in b. x − x is not seen to be 0."""
    low, high = np.asarray(a.low - b.high), np.asarray(a.high - b.low)
    if all_finite(low, high):
        return outward_finite(low, high)
    alike = ((a.low == -np.inf) & (b.low == -np.inf)) | ((a.high == np.inf) & (b.high == np.inf))
    return unknown(outward(low, high), np.asarray(alike), INFINITIES)


def negative(a: Ends) -> Ends:
    """−a, exactly."""
    return Ends(-a.high, -a.low)


def positive(a: Ends) -> Ends:
    """A copy."""
    return Ends(a.low.copy(), a.high.copy())


def absolute(a: Ends) -> Ends:
    """|a|, exactly."""
    return Ends(*magnitudes(a))


def multiply(a: Ends, b: Ends) -> Ends:
    """a·b: linear in each argument for a fixed other one, with extremes at corners. No value for 0 and ∞."""
    low, high = _corners(np.multiply, a, b)
    if all_finite(low, high):
        return product_outward(outward_finite(low, high), low, high, a, b)
    # An infinite end makes some corner infinite or NaN, so that none is overlooked here.
    zero_and_infinite = (_holds_zero(a) & _is_unbounded(b)) | (_is_unbounded(a) & _holds_zero(b))
    return unknown(product_outward(outward(low, high), low, high, a, b), zero_and_infinite, INFINITIES)


def divide(a: Ends, b: Ends) -> Ends:
    """a/b: monotone in each argument while b keeps its sign, extremes at corners; no value if b may be 0."""
    low, high = _corners(np.divide, a, b)
    zero = _holds_zero(b)
    if all_finite(low, high) and not zero.any():
        return product_outward(outward_finite(low, high), low, high, a, b)
    quotient = product_outward(outward(low, high), low, high, a, b)
    quotient = unknown(quotient, np.asarray(_is_unbounded(a) & _is_unbounded(b)), INFINITIES)
    if not zero.any():
        return quotient
    return unknown(quotient, np.broadcast_to(zero, low.shape), outside("division", "other than 0", b, zero))


def reciprocal(a: Ends) -> Ends:
    """1/a."""
    return divide(ONE, a)


def square(a: Ends) -> Ends:
    """a²: increasing in |a|. Unlike a·a it knows that both factors are the same."""
    least, greatest = magnitudes(a)
    low, high = lowered(least * least), raised(greatest * greatest)
    # A square that underflowed lies between 0 and a subnormal number; a square is never negative.
    if (low < SMALLEST_NORMAL).any():
        low = np.where(low < SMALLEST_NORMAL, 0.0, low)
    if (high < SMALLEST_NORMAL).any():
        high = np.where((high < SMALLEST_NORMAL) & (greatest > 0), high + SMALLEST, high)
    return Ends(low, high)


def maximum(a: Ends, b: Ends) -> Ends:
    """max(a, b): increasing in both, exact."""
    return Ends(np.maximum(a.low, b.low), np.maximum(a.high, b.high))


def minimum(a: Ends, b: Ends) -> Ends:
    """min(a, b): increasing in both, exact."""
    return Ends(np.minimum(a.low, b.low), np.minimum(a.high, b.high))


def _corners(operation: Callable[[Plain, Plain], Plain], a: Ends, b: Ends) -> tuple[Plain, Plain]:
    """The least and the greatest result at the ends of the arguments; NaN where one of them is NaN."""
    first = (a.low,) if is_point(a) else (a.low, a.high)
    second = (b.low,) if is_point(b) else (b.low, b.high)
    results = [operation(x, y) for x in first for y in second]
    return reduce(np.minimum, results), reduce(np.maximum, results)


def _holds_zero(a: Ends) -> Plain:
    return np.asarray((a.low <= 0) & (a.high >= 0))


def _is_unbounded(a: Ends) -> Plain:
    return np.asarray(np.isinf(a.low) | np.isinf(a.high))


def product_outward(result: Ends, low: Plain, high: Plain, a: Ends, b: Ends) -> Ends:
    """Widen the rounded ends of a product or quotient, keeping the sign that the signs of a and b give it.

    Below the normal numbers a rounded product may be off by half of SMALLEST however small it is. An end that came
    out as 0 stays 0 if no members have a product beyond it; otherwise that product may have underflowed.
    """
    tiny = np.abs(low) < SMALLEST_NORMAL
    if tiny.any():
        below = ((a.low < 0) & (b.high > 0)) | ((a.high > 0) & (b.low < 0))
        result.low = np.where(tiny & (below | (low != 0)), result.low - SMALLEST, result.low)
    tiny = np.abs(high) < SMALLEST_NORMAL
    if tiny.any():
        above = ((a.high > 0) & (b.high > 0)) | ((a.low < 0) & (b.low < 0))
        result.high = np.where(tiny & (above | (high != 0)), result.high + SMALLEST, result.high)
    return result
