"""a·b + c with a single rounding, in plain NumPy: what a processor's fused multiply-add returns, bit for bit.

NumPy has no such operation. The product and the sum are split into floats that hold them exactly; the last
addition is correctly rounded because the one before it was rounded to odd (Boldo and Melquiond, "Emulation of a FMA and
correctly rounded sums", IEEE Transactions on Computers 57, 2008).
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import Array, Integers
from anyformer.networks.dtypes import FLOAT64, DType

# Between these no step below overflows, and no part of a product is lost to underflow.
SMALL, LARGE = 2.0**-900, 2.0**900
SPLITTER = 2.0**27 + 1


def fused(a: ArrayLike, b: ArrayLike, c: ArrayLike, dtype: DType = FLOAT64) -> Array:
    """a·b + c, entry by entry, correctly rounded to a type that holds a, b and c; the shapes are broadcast."""
    a, b, c = (np.asarray(part, dtype=np.float64) for part in (a, b, c))
    with np.errstate(all="ignore"):
        if dtype != FLOAT64:
            # The product is exact in float64, and a sum rounded to odd there is rounded correctly from there on.
            return dtype.rounded(_finite_sum_to_odd(a * b, c))
        product = a * b
        plain = np.asarray(product + c)
        rough = (a != 0) & (b != 0)
        # Multiplying by a power of two is exact unless it underflows, so the sum is the only rounding.
        if (_are_powers(a) or _are_powers(b)) and not (rough & (np.abs(product) <= SMALL)).any():
            return plain
        rough = np.broadcast_to(rough, plain.shape)
        factors = (np.broadcast_to(part, plain.shape)[rough] for part in (a, b, c))
        plain[rough] = _rounded_once(*factors)
        return plain


def _are_powers(factor: Array) -> bool:
    mantissa = np.abs(np.frexp(factor)[0])
    return bool(((mantissa == 0.5) | (mantissa == 0)).all())


def _rounded_once(a: Array, b: Array, c: Array) -> Array:
    sizes = np.abs(np.stack([a, b, c, a * b]))
    ordinary = (sizes < LARGE).all(axis=0) & (sizes[3] > SMALL)
    result = np.empty_like(a)
    result[ordinary] = _by_parts(a[ordinary], b[ordinary], c[ordinary])
    for k in np.flatnonzero(~ordinary):
        result[k] = _by_fractions(float(a[k]), float(b[k]), float(c[k]))
    return result


def _by_parts(a: Array, b: Array, c: Array) -> Array:
    product, product_rest = _product(a, b)
    middle, tail = _sum(c, product_rest)
    head, head_rest = _sum(product, middle)
    return np.asarray(head + _sum_to_odd(tail, head_rest))


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    """a·b as a float and its rounding error, exactly (Dekker, Veltkamp)."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    product = a * b
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, rest


def _halves(a: Array) -> tuple[Array, Array]:
    shifted = SPLITTER * a
    high = shifted - (shifted - a)
    return high, a - high


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a float and its rounding error, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _finite_sum_to_odd(a: Array, b: Array) -> Array:
    """The same, and the plain sum where it is infinite or not a number."""
    plain = np.asarray(a + b)
    return np.where(np.isfinite(plain), _sum_to_odd(a, b), plain)


def _sum_to_odd(a: Array, b: Array) -> Array:
    """a + b; if that is not a float, the one of its two neighbours whose last bit is 1."""
    total, rest = _sum(a, b)
    bits: Integers = total.view(np.int64)
    wrong = (rest != 0) & (bits & 1 == 0)
    outwards = (rest > 0) == (total > 0)
    return np.where(wrong, np.where(outwards, bits + 1, bits - 1), bits).view(np.float64)


def _by_fractions(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
