"""Numbers in a program: a float64 value, and a bound on its distance from the exact number that the formula means.

A user's formula is a statement about real numbers: 0.1 * x + 0.2 * x means (0.1 + 0.2)·x, but float64 rounds the sum.
So each coefficient that was computed while a function was traced carries its *doubt*, and proofs take it into account.
Values and doubts are floats, or arrays with an entry per token.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from anyformer.arrays import Array, Booleans

Real: TypeAlias = float | Array

# Half the distance of 1 to the next float64: one rounding, relatively.
UNIT = 2.0**-53
# Doubts are themselves computed in float64, with fewer than 16 roundings a step; this much more makes up for them.
UP = 1 + 16 * UNIT
# Products below the smallest normal number are off by up to this.
SMALLEST, TINY = 2.0**-1022, 2.0**-1074


@dataclass(frozen=True, eq=False)
class Number:
    """A value that is within `doubt` of the exact one."""

    value: Real
    doubt: Real = 0.0

    def __add__(self, other: "Number") -> "Number":
        total, rounding = _two_sum(self.value, other.value)
        # A sum of which only one part is not 0 is exact; so adding 0 changes nothing.
        parts = np.not_equal(self.doubt, 0) * 1 + np.not_equal(other.doubt, 0) + np.not_equal(rounding, 0)
        return Number(total, _plain((self.doubt + other.doubt + rounding) * np.where(parts > 1, UP, 1.0)))

    def __mul__(self, other: "Number") -> "Number":
        product = self.value * other.value
        # A power of two shifts the exponent alone, unless that leaves the normal numbers.
        is_shift = (_is_power_of_two(self.value) | _is_power_of_two(other.value)) & (np.abs(product) >= SMALLEST)
        exact = is_shift | np.equal(self.value, 0) | np.equal(other.value, 0)
        rounding = np.where(exact, 0.0, UNIT * np.abs(product) + TINY)
        carried = _above(self.value, other.doubt) + _above(other.value, self.doubt) + _above(self.doubt, other.doubt)
        # Scaled by a power of two without doubt, the doubt is exact as well.
        scales = [_is_power_of_two(one.value) & np.equal(one.doubt, 0) for one in (self, other)]
        up = np.where((scales[0] | scales[1]) & exact, 1.0, UP)
        return Number(_plain(product), _plain((carried + rounding) * up))

    def __neg__(self) -> "Number":
        return Number(-self.value, self.doubt)

    @property
    def is_exactly_zero(self) -> bool:
        """Whether it is 0 for all tokens, without doubt."""
        return not np.any(self.value) and not np.any(self.doubt)

    @property
    def size(self) -> float:
        """The largest magnitude that the exact number can have, over all tokens."""
        return float(np.max(np.abs(self.value) + self.doubt)) * UP

    @property
    def most_doubt(self) -> float:
        """The largest doubt over all tokens."""
        return float(np.max(self.doubt))

    @property
    def is_steady(self) -> bool:
        """Whether it is one number for all tokens."""
        return np.ndim(self.value) == 0

    def key(self) -> tuple[bytes, bytes]:
        """Equal for equal numbers."""
        return np.asarray(self.value + 0.0).tobytes(), np.asarray(self.doubt).tobytes()


ZERO, ONE = Number(0.0), Number(1.0)


def enclosed(low: Real, high: Real) -> Number:
    """The number that lies somewhere between two ends."""
    value = low + (high - low) / 2
    doubt = np.maximum(high - value, value - low) * UP
    return Number(_plain(value), _plain(np.where(high == low, 0.0, doubt)))


def steady(number: Number) -> Number:
    """A vector whose entries all agree as one number; entries that agree within their doubts count too.

    The exact numbers need not be equal then: the doubt covers the spread.
    """
    if number.is_steady:
        return number
    values, doubts = np.asarray(number.value), np.broadcast_to(np.asarray(number.doubt), np.shape(number.value))
    middle = float(np.median(values))
    apart = np.abs(values - middle)
    if not apart.any() and not doubts.any():
        return Number(middle)
    if (apart <= doubts).all():
        return Number(middle, float((apart + doubts).max()) * UP)
    return number


def _two_sum(a: Real, b: Real) -> tuple[Real, Real]:
    """The rounded sum and the size of its error, exactly (Knuth)."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return _plain(total), _plain(np.abs(error))


def _above(a: Real, b: Real) -> Real:
    """|a·b|, up to a rounding; not 0 unless a factor is."""
    return np.where(np.equal(a, 0) | np.equal(b, 0), 0.0, np.abs(np.multiply(a, b)) + TINY)


def _is_power_of_two(value: Real) -> Booleans:
    return np.asarray(np.abs(np.frexp(value)[0]) == 0.5)


def _plain(value: "Real | np.ndarray | np.floating") -> Real:
    """Arrays without axes as Python numbers."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value)
