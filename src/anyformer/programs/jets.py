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
from anyformer.programs.numbers import Number

Interval = Any  # IntervalArray, whose operators come from NumPy's mixin


@dataclass(frozen=True, eq=False)
class Jet:
    """Enclosures of f, f′ and f″ on intervals, each an IntervalArray of one shape."""

    value: Interval
    slope: Interval
    bend: Interval

    @classmethod
    def variable(cls, low: Array, high: Array) -> "Jet":
        """The argument itself."""
        return cls(IntervalArray(low, high), _all(1.0, low), _all(0.0, low))

    @classmethod
    def constant(cls, number: Number, like: "Jet") -> "Jet":
        """One number everywhere."""
        zero = _all(0.0, like.value.low)
        return cls(zero + _interval(number), zero, zero)

    def __add__(self, other: "Jet") -> "Jet":
        return Jet(self.value + other.value, self.slope + other.slope, self.bend + other.bend)

    def __sub__(self, other: "Jet") -> "Jet":
        return Jet(self.value - other.value, self.slope - other.slope, self.bend - other.bend)

    def __mul__(self, other: "Jet") -> "Jet":
        slope = self.value * other.slope + self.slope * other.value
        bend = self.value * other.bend + 2.0 * (self.slope * other.slope) + self.bend * other.value
        return Jet(self.value * other.value, slope, bend)

    def times(self, number: Number) -> "Jet":
        """Multiplied by a number."""
        factor = _interval(number)
        return Jet(self.value * factor, self.slope * factor, self.bend * factor)

    def plus(self, number: Number) -> "Jet":
        """A number added."""
        return Jet(self.value + _interval(number), self.slope, self.bend)

    def apply(self, function: str, parameter: float | None = None) -> "Jet":
        """g(f), by the chain rule: g′(f)·f′ and g″(f)·f′² + g′(f)·f″."""
        value, first, second = FUNCTIONS[function].jet(self.value, parameter)
        return Jet(value, first * self.slope, second * np.square(self.slope) + first * self.bend)

    def chosen(self, yes: "Jet", no: "Jet") -> "Jet":
        """`yes` where this is positive, `no` elsewhere; where both may happen, the hull, with an unknown bend.

        The slope is that of a function which may jump there, so it is unknown as well.
        """
        is_yes, is_no = np.asarray(self.value.low >= 0), np.asarray(self.value.high <= 0)
        return _chosen(is_yes, is_no, yes, no, knows_slope=False)

    def relu(self) -> "Jet":
        """max(f, 0): continuous, so that slopes lie in the hull of both branches."""
        is_up, is_down = np.asarray(self.value.low >= 0), np.asarray(self.value.high <= 0)
        zero = _all(0.0, self.value.low)
        return _chosen(is_up, is_down, self, Jet(zero, zero, zero), knows_slope=True)

    def absolute(self) -> "Jet":
        """|f|."""
        is_up, is_down = np.asarray(self.value.low >= 0), np.asarray(self.value.high <= 0)
        made = _chosen(is_up, is_down, self, Jet(-self.value, -self.slope, -self.bend), knows_slope=True)
        return Jet(np.abs(self.value), made.slope, made.bend)


def _chosen(is_yes: Booleans, is_no: Booleans, yes: Jet, no: Jet, *, knows_slope: bool) -> Jet:
    unknown = IntervalArray(np.full(is_yes.shape, -np.inf), np.full(is_yes.shape, np.inf))
    parts = []
    for a, b, is_known in ((yes.value, no.value, True), (yes.slope, no.slope, knows_slope), (yes.bend, no.bend, False)):
        low = np.where(is_yes, a.low, np.where(is_no, b.low, np.minimum(a.low, b.low) if is_known else unknown.low))
        high = np.where(
            is_yes, a.high, np.where(is_no, b.high, np.maximum(a.high, b.high) if is_known else unknown.high)
        )
        parts.append(IntervalArray(low, high))
    return Jet(*parts)


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
