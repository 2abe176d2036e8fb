"""Sets that hold what a network computes in real arithmetic and what it computes in float64 or float32, both at once.

An `Enclosure` has two readings, entry by entry:

- the program's value lies in [low, high];
- the real-arithmetic value lies in [low − slack, high + slack].

The ends carry what is large and known, often a single float; the slack carries what is tiny beside it, such as the
10⁻³²⁰ that a saturated softmax leaves to the losers. Folding that into the ends would round it up to an ulp of the
ends.

Rounding. Let a program add products in any order, fused or not. If all products are multiples of a power of two q and
neither the positive nor the negative ones add up to more than 2⁵³q, every partial sum is a multiple of q below 2⁵³q: a
float. Nothing rounds, and every order gives the same bits. Otherwise the error of k operations is at most
k·u/(1 − k·u)·Σ|products| with u = 2⁻⁵³, and 2⁻¹⁰⁷⁴ for each product that underflows; the ends move outwards by more
than that. One rule covers both the program and this checker's own arithmetic. `gate` shows that the program's sums are
finite. A program in float32 has 24 bits where float64 has 53, u = 2⁻²⁴ and 2⁻¹⁴⁹ for 2⁻¹⁰⁷⁴; the checker computes in
float64 all the same.

NaN. The checker runs with NumPy's floating-point errors switched on (`gate.vigilant`): an operation that makes NaN or
overflows raises, and the verdict is undecided. Where an end may be infinite and ∞ − ∞ can occur, the code handles it on
that line, and NaN becomes "nothing is known": −∞ for a low end, ∞ for a high end or an error.
"""

import enum
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import NotShown
from anyformer.networks.dtypes import FLOAT32, FLOAT64, DType

ULP = 2.0**-52
SMALLEST = 5e-324


class Arithmetic(enum.Enum):
    """Which arithmetic an enclosure must cover: a program in a type and the network in real arithmetic, or the second
    alone."""

    FLOAT64_AND_REAL = FLOAT64
    FLOAT32_AND_REAL = FLOAT32
    REAL = None

    @classmethod
    def of(cls, dtype: DType) -> "Arithmetic":
        """For a network of this type."""
        for one in cls:
            if one.value == dtype:
                return one
        raise NotShown(f"cells are followed in float64 and float32 alone; the network is of {dtype}")

    @property
    def covers_program(self) -> bool:
        """Whether roundings of a program count."""
        return self.value is not None

    @property
    def dtype(self) -> DType:
        """The program's type; the checker's own where there is no program."""
        return self.value or FLOAT64

    @property
    def ulp(self) -> float:
        """Two roundings, relatively."""
        return 2 * self.dtype.unit

    @property
    def smallest(self) -> float:
        """What an operation may lose to underflow."""
        return self.dtype.tiny

    @property
    def normal(self) -> float:
        """From here on a number x and also x·u are normal, with all their bits."""
        return math.ldexp(1.0, self.dtype.least_exponent + self.dtype.bits + 9)


@dataclass(frozen=True, eq=False)
class Enclosure:
    """The program's values within [low, high], real values within [low − slack, high + slack]."""

    low: Array
    high: Array
    slack: Array

    @classmethod
    def box(cls, low: Array, high: Array) -> "Enclosure":
        """A box with known ends."""
        return cls(low, high, np.zeros(np.shape(low)))

    def __getitem__(self, index: Any) -> "Enclosure":
        return Enclosure(self.low[index], self.high[index], self.slack[index])

    def reshape(self, *shape: int) -> "Enclosure":
        """The same entries in another shape."""
        return Enclosure(self.low.reshape(shape), self.high.reshape(shape), self.slack.reshape(shape))

    def folded(self) -> "Enclosure":
        """The slack put inside the ends, rounded outwards."""
        some = self.slack > 0
        with np.errstate(over="ignore", under="ignore"):  # an infinite end is a true bound
            low = np.where(some, np.nextafter(self.low - self.slack, -np.inf), self.low)
            high = np.where(some, np.nextafter(self.high + self.slack, np.inf), self.high)
        return Enclosure.box(low, high)

    def farthest_from(self, centre: Array) -> Array:
        """How far a member may lie from `centre`; rounded up, infinite where nothing is known."""
        with np.errstate(invalid="ignore", over="ignore"):
            far = np.maximum(self.high - centre, centre - self.low)
        return up(np.where(np.isnan(far), np.inf, np.maximum(far, 0.0)) + self.slack)


def stack(parts: list[Enclosure]) -> Enclosure:
    """Put enclosures of one shape side by side along a new last axis."""
    return Enclosure(
        np.stack([part.low for part in parts], axis=-1),
        np.stack([part.high for part in parts], axis=-1),
        np.stack([part.slack for part in parts], axis=-1),
    )


def up(x: Array) -> Array:
    """Slightly more than a positive x, to cover the few roundings in computing x. 0 stays 0, and NaN stays NaN."""
    with np.errstate(over="ignore"):  # infinity is a true upper bound
        return np.where(x <= 0, 0.0, x * (1 + 8 * ULP) + SMALLEST)


def up_times(a: Array, b: Array) -> Array:
    """At least the product of two non-negative numbers: 0 only if one of them is, even where float64 underflows."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return np.where((a == 0) | (b == 0), 0.0, a * b * (1 + 8 * ULP) + SMALLEST)


def low_bit(x: Array) -> Array:
    """The largest power of two that x is a multiple of; infinity for 0, which is a multiple of all."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))
    digits = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = (digits & -digits).astype(np.float64)
    return np.where(x == 0, np.inf, np.ldexp(lowest, exponent - 53))


def sum_of_products(
    weights: Array, x: Array, arithmetic: Arithmetic = Arithmetic.FLOAT64_AND_REAL
) -> tuple[Array, Array]:
    """Σ weights·x over the last axis, and by how much any evaluation of it may be off: 0 where it is exact.

    A zero weight drops its factor, even an infinite one. Where the sum is infinite or ∞ − ∞, the error is infinite.
    """
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        absent = (weights == 0) | (x == 0)
        products = np.where(absent, 0.0, weights * x)
        positive = np.maximum(products, 0.0).sum(axis=-1)
        negative = -np.minimum(products, 0.0).sum(axis=-1)
        quantum = np.where(absent, np.inf, low_bit(weights) * low_bit(x)).min(axis=-1)
        # These two sums may have been rounded down to the limit themselves, hence up().
        exact = up(np.maximum(positive, negative)) <= 2.0**arithmetic.dtype.bits * quantum
        exact &= quantum >= arithmetic.smallest
        exact &= np.isfinite(positive + negative)
        operations = products.shape[-1] + 4
        error = up(operations * (arithmetic.ulp * (positive + negative) + arithmetic.smallest))
        return products.sum(axis=-1), np.where(exact, 0.0, np.where(np.isnan(error), np.inf, error))


def affine(
    weights: Array,
    x: Enclosure,
    bias: Array | None = None,
    arithmetic: Arithmetic = Arithmetic.FLOAT64_AND_REAL,
) -> Enclosure:
    """Enclose weights·x + bias over the last axis. The shapes are broadcast; the bias enters as one more product."""
    if bias is not None:
        weights, x = _with_bias(weights, x, bias)
    slack = up(up_times(np.abs(weights), x.slack).sum(axis=-1))
    lowest, error_below = sum_of_products(weights, np.where(weights >= 0, x.low, x.high), arithmetic)
    if np.array_equal(x.low, x.high) and not error_below.any():
        return Enclosure(lowest, lowest, slack)
    highest, error_above = sum_of_products(weights, np.where(weights >= 0, x.high, x.low), arithmetic)
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = lowest - error_below, highest + error_above
    # ∞ − ∞ means that nothing is known on that side.
    return Enclosure(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high), slack)


def _with_bias(weights: Array, x: Enclosure, bias: Array) -> tuple[Array, Enclosure]:
    shape = np.broadcast_shapes(weights.shape, x.low.shape)
    constant = np.broadcast_to(bias, shape[:-1])[..., None]

    def extended(array: Array, last: Array) -> Array:
        return np.concatenate([np.broadcast_to(array, shape), last], axis=-1)

    longer = Enclosure(
        extended(x.low, constant), extended(x.high, constant), extended(x.slack, np.zeros_like(constant))
    )
    return extended(weights, np.ones_like(constant)), longer
