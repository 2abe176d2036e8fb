"""The floating-point types that a network's weights may have and its program may run in.

Arrays are float64 everywhere in this package: it holds every number of a narrower type, and no proof computes in a
narrow type by accident. A `DType` says which numbers are allowed, and how an operation rounds.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import NetworkError


@dataclass(frozen=True)
class DType:
    """A binary floating-point type: so many bits in its numbers, and so large and small they can be."""

    name: str
    bits: int
    """Of a normal number, the leading 1 included: whole numbers with so many bits are exact."""
    least_exponent: int
    """The smallest normal number is 2 to this power."""
    end_exponent: int
    """All numbers are below 2 to this power."""

    @property
    def unit(self) -> float:
        """One rounding, relatively: half the distance from 1 to the next number."""
        return math.ldexp(1.0, -self.bits)

    @property
    def tiny(self) -> float:
        """The smallest number above 0."""
        return math.ldexp(1.0, self.least_exponent - self.bits + 1)

    @property
    def smallest_normal(self) -> float:
        """The smallest number that has all its bits."""
        return math.ldexp(1.0, self.least_exponent)

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return math.ldexp(2 - 2 * self.unit, self.end_exponent - 1)

    @property
    def underflow(self) -> float:
        """What an operation may lose below the normal numbers: some runtimes flush float32's subnormals to 0."""
        return self.smallest_normal if self.name in ("float32", "bfloat16") else self.tiny

    @property
    def exp_underflow(self) -> float:
        """exp(−s) is less than half the smallest number, and so rounded to 0, for every s above this."""
        return (self.bits - self.least_exponent) * math.log(2)

    def roundings(self, count: float) -> float:
        """(1 + u)^count − 1, rounded up: so many roundings, one after the other, relatively.

        At most count·u/(1 − count·u), and the three operations here cost less than 2⁻⁵⁰ of it.
        """
        total = count * self.unit
        return total / (1 - total) * (1 + 2.0**-50) if total < 0.5 else math.inf

    @property
    def stored_as(self) -> str:
        """NumPy's name of the type that files hold its numbers in: its own, or for bfloat16 one that holds them."""
        return "float32" if self.name == "bfloat16" else self.name

    def rounded(self, x: Array) -> Array:
        """The nearest number of this type for every entry, ties to even; infinite beyond the largest.

        >>> float(FLOAT32.rounded(np.array(0.1))), float(BFLOAT16.rounded(np.array(0.1)))
        (0.10000000149011612, 0.10009765625)
        """
        if self.bits == FLOAT64.bits:
            return x
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if self.name == self.stored_as:
                return np.asarray(x, dtype=self.name).astype(np.float64)
            # Scaling by a power of two is exact, and so is every whole number that is left.
            exponents = np.maximum(np.frexp(x)[1], self.least_exponent + 1) - self.bits
            near = np.ldexp(np.rint(np.ldexp(x, -exponents)), exponents)
            return np.asarray(np.where(np.abs(near) > self.largest, np.copysign(np.inf, x), near))

    def rounded_inside(self, x: Array, low: Array, high: Array) -> Array:
        """The nearest numbers of this type for points of a box, moved by one step where that leaves the box."""
        near = self.rounded(x)
        step = self._step(near)
        return np.asarray(np.where(near > high, near - step, np.where(near < low, near + step, near)))

    def rounded_outward(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Ends of this type that hold all between the given ones, and what of it is rounded to the nearest number."""
        below, above = self.rounded(low), self.rounded(high)
        with np.errstate(invalid="ignore"):  # infinite ends stay
            wide = np.where(below > low, below - self._step(below), below)
            return np.asarray(wide), np.asarray(np.where(above < high, above + self._step(above), above))

    def _step(self, x: Array) -> Array:
        """The distance to the next larger number in magnitude."""
        return np.asarray(np.ldexp(1.0, np.maximum(np.frexp(x)[1], self.least_exponent + 1) - self.bits))

    def holds(self, x: Array) -> bool:
        """Whether every entry is a number of this type."""
        return self.bits == FLOAT64.bits or bool(np.array_equal(self.rounded(x), x))

    def __str__(self) -> str:
        return self.name


FLOAT64: Final = DType("float64", 53, -1022, 1024)
FLOAT32: Final = DType("float32", 24, -126, 128)
FLOAT16: Final = DType("float16", 11, -14, 16)
BFLOAT16: Final = DType("bfloat16", 8, -126, 128)
DTYPES: Final = {kind.name: kind for kind in (FLOAT64, FLOAT32, FLOAT16, BFLOAT16)}


def as_dtype(given: Any) -> DType:
    """The type that a user names: a DType, its name, or the type of NumPy or PyTorch.

    >>> as_dtype("float32") is as_dtype(np.float32) is FLOAT32
    True
    """
    if isinstance(given, DType):
        return given
    try:
        name = str(given).removeprefix("torch.") if not isinstance(given, type) else np.dtype(given).name
    except TypeError:
        name = repr(given)
    if name not in DTYPES:
        raise NetworkError(f"dtype must be one of {', '.join(DTYPES)}; got {given!r}. Choose one of them.")
    return DTYPES[name]
