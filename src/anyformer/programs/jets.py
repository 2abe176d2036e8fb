"""Enclosures of a function of one number and of its first two derivatives, on many intervals at once.

Where a function has a kink inside an interval, the second derivative is unknown there: its ends are infinite. Where the
kink lies at an end, the function is as smooth on the interval as the branch that it follows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.intervals import IntervalArray
from anyformer.programs.functions import FUNCTIONS
from anyformer.programs.numbers import UP, Number

Interval = Any  # IntervalArray, whose operators come from NumPy's mixin


@dataclass(frozen=True, eq=False)
class Jet:
    """Enclosures of f, f′ and f″ on intervals, each an IntervalArray of one shape."""

    value: Interval
    slope: Interval
    bend: Interval
    leap: Array
    """How far f may jump within each interval."""

    @classmethod
    def variable(cls, low: Array, high: Array) -> "Jet":
        """The argument itself."""
        return cls(IntervalArray(low, high), _all(1.0, low), _all(0.0, low), np.zeros(np.shape(low)))

    @classmethod
    def constant(cls, number: Number, like: "Jet") -> "Jet":
        """One number everywhere."""
        zero = _all(0.0, like.value.low)
        return cls(zero + _interval(number), zero, zero, np.zeros(zero.shape))

    def __add__(self, other: "Jet") -> "Jet":
        leap = UP * (self.leap + other.leap)
        return Jet(self.value + other.value, self.slope + other.slope, self.bend + other.bend, leap)

    def __sub__(self, other: "Jet") -> "Jet":
        leap = UP * (self.leap + other.leap)
        return Jet(self.value - other.value, self.slope - other.slope, self.bend - other.bend, leap)

    def __mul__(self, other: "Jet") -> "Jet":
        slope = self.value * other.slope + self.slope * other.value
        bend = self.value * other.bend + 2.0 * (self.slope * other.slope) + self.bend * other.value
        # a·b − a′·b′ = a·(b − b′) + b′·(a − a′), and the values lie in the enclosures on both sides of a jump.
        leap = UP * (_times(_size(self.value), other.leap) + _times(_size(other.value), self.leap))
        return Jet(self.value * other.value, slope, bend, leap)

    def times(self, number: Number) -> "Jet":
        """Multiplied by a number."""
        factor = _interval(number)
        leap = UP * _times(np.asarray(number.size), self.leap)
        return Jet(self.value * factor, self.slope * factor, self.bend * factor, leap)

    def plus(self, number: Number) -> "Jet":
        """A number added."""
        return Jet(self.value + _interval(number), self.slope, self.bend, self.leap)

    def apply(self, function: str, parameter: float | None = None) -> "Jet":
        """g(f), by the chain rule: g′(f)·f′ and g″(f)·f′² + g′(f)·f″."""
        value, first, second = FUNCTIONS[function].jet(self.value, parameter)
        bend = second * np.square(self.slope) + first * self.bend
        return Jet(value, first * self.slope, bend, UP * _times(_size(first), self.leap))

    def chosen(self, yes: "Jet", no: "Jet") -> "Jet":
        """`yes` where this is positive, `no` elsewhere; where both may happen, the hull, with an unknown bend.

        The slope is that of a function which may jump there, so it is unknown as well. A condition that is 0 at an end
        of the interval alone, as it rises or falls strictly, chooses one branch inside; at a point where it is 0 both
        count, for the function may come from either, and it jumps by the distance of the two.
        """
        low, high = np.asarray(self.value.low), np.asarray(self.value.high)
        strictly = np.asarray((self.slope.low > 0) | (self.slope.high < 0))
        is_yes = (low > 0) | ((low >= 0) & (high > 0) & strictly)
        is_no = (high < 0) | ((high <= 0) & (low < 0))
        apart = np.maximum(np.abs(yes.value.high - no.value.low), np.abs(no.value.high - yes.value.low))
        leap = np.where(is_yes, yes.leap, np.where(is_no, no.leap, yes.leap + no.leap + apart))
        # A condition that jumps itself may choose anything.
        leap = np.where(self.leap > 0, np.inf, leap)
        made = _chosen(is_yes, is_no, yes, no, knows_slope=False)
        return Jet(made.value, made.slope, made.bend, UP * leap)

    def relu(self) -> "Jet":
        """max(f, 0): continuous, so that slopes lie in the hull of both branches."""
        is_up, is_down = np.asarray(self.value.low >= 0), np.asarray(self.value.high <= 0)
        zero = _all(0.0, self.value.low)
        made = _chosen(is_up, is_down, self, Jet(zero, zero, zero, np.zeros(zero.shape)), knows_slope=True)
        return Jet(made.value, made.slope, made.bend, self.leap)

    def absolute(self) -> "Jet":
        """|f|."""
        is_up, is_down = np.asarray(self.value.low >= 0), np.asarray(self.value.high <= 0)
        made = _chosen(is_up, is_down, self, Jet(-self.value, -self.slope, -self.bend, self.leap), knows_slope=True)
        return Jet(np.abs(self.value), made.slope, made.bend, self.leap)


def _chosen(is_yes: Booleans, is_no: Booleans, yes: Jet, no: Jet, *, knows_slope: bool) -> Jet:
    unknown = IntervalArray(np.full(is_yes.shape, -np.inf), np.full(is_yes.shape, np.inf))
    parts = []
    for a, b, is_known in ((yes.value, no.value, True), (yes.slope, no.slope, knows_slope), (yes.bend, no.bend, False)):
        low = np.where(is_yes, a.low, np.where(is_no, b.low, np.minimum(a.low, b.low) if is_known else unknown.low))
        high = np.where(
            is_yes, a.high, np.where(is_no, b.high, np.maximum(a.high, b.high) if is_known else unknown.high)
        )
        parts.append(IntervalArray(low, high))
    value, slope, bend = parts
    return Jet(value, slope, bend, np.zeros(is_yes.shape))


def _size(one: Interval) -> Array:
    return np.asarray(np.maximum(np.abs(one.low), np.abs(one.high)))


def _times(size: Array, leap: Array) -> Array:
    """size·leap; no leap stays none, however large the size."""
    return np.asarray(np.where(leap == 0, 0.0, size * leap))


def _all(value: float, like: Array) -> Interval:
    filled = np.full(np.shape(like), value)
    return IntervalArray(filled, filled)


def _interval(number: Number) -> Interval:
    if not number.most_doubt:
        return float(number.value)
    return IntervalArray(
        np.nextafter(float(number.value) - float(number.doubt), -np.inf),
        np.nextafter(float(number.value) + float(number.doubt), np.inf),
    )
