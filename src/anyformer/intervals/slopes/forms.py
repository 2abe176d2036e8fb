"""Mean value forms: the values of an array on a box, its value at the centre c, and one slope for every input.

A form stands for arrays y(x), x in the box, and claims, entry by entry and for exact real arithmetic: for every x in
the box there are numbers gₖ within the slopes such that

    y(x) − y(c) = Σₖ gₖ·(xₖ − cₖ).

The slopes are those of two points, x and c, not derivatives; so the claim makes sense where there is no derivative, as
for max and sort, and every rule of this folder is a line of algebra. `rules` encloses the arithmetic of slopes and
values, rounded outwards.

Only exact values are claimed: the centre's enclosure holds NumPy's float64 value as well, the slopes do not cover the
rounding elsewhere in the box.

A slope of None is 0. An infinite slope says nothing. Where no form is known there is none, and using the array later
gives none: `form_of` takes an array without a form for a constant only if it is a single point on the whole box.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np

from anyformer.errors import NoSlopes
from anyformer.intervals.ends import Ends, Held, Plain, ends_of, is_point, is_truth, opened
from anyformer.intervals.rules.elementwise.arithmetic import add, multiply
from anyformer.intervals.rules.rounding import SMALLEST, SMALLEST_NORMAL, all_finite, outward_finite

Slopes: TypeAlias = tuple[Ends | None, ...]

HALF: Final = ends_of(0.5)


@dataclass(frozen=True, eq=False, slots=True)
class Form:
    """Values on the box, the value at the centre, and a slope for every input, all of one shape."""

    box: Ends
    centre: Ends
    slopes: Slopes

    @property
    def mean(self) -> Ends:
        """Encloses (y(x) + y(c))/2."""
        if is_point(self.box):
            return self.box
        return multiply(HALF, add(self.box, self.centre))

    @property
    def is_constant(self) -> bool:
        """Whether no input moves it."""
        return all(slope is None for slope in self.slopes)

    def each(self, change: Callable[[Ends], Ends]) -> "Form":
        """The form with the same linear change made to values and slopes."""
        return Form(change(self.box), change(self.centre), each(change, self.slopes))


def form_of(operand: Any, inputs: int) -> Form:
    """The form of any operand: of an array that carries one, of a constant. Raises NoSlopes for other arrays."""
    if not isinstance(operand, Held):
        constant = ends_of(operand)
        return Form(constant, constant, (None,) * inputs)
    ends = opened(operand)
    form = operand._form
    if form is not None and operand._form_version == operand._memory.version:
        return Form(ends, form.centre, form.slopes)
    decided = ends.low == ends.high
    if is_truth(operand):
        return _of_condition(ends_of(operand), np.asarray(decided), inputs)
    if not decided.all():
        raise NoSlopes
    # The exact value lies between equal ends for every x in the box: it is the same for all.
    return Form(ends, ends, (None,) * inputs)


def _of_condition(numbers: Ends, decided: Plain, inputs: int) -> Form:
    """0 or 1: constant where decided. Elsewhere it jumps, and no slope holds."""
    if decided.all():
        return Form(numbers, numbers, (None,) * inputs)
    unknown = Ends(np.where(decided, 0.0, -np.inf), np.where(decided, 0.0, np.inf))
    return Form(numbers, numbers, (unknown,) * inputs)


def each(change: Callable[[Ends], Ends], slopes: Slopes) -> Slopes:
    """The same linear change of every slope; 0 stays 0."""
    return tuple(None if slope is None else change(slope) for slope in slopes)


def scaled(factor: Ends, slopes: Slopes) -> Slopes:
    """Every slope times a factor."""
    is_positive = bool((factor.low >= 0).all())
    return each(lambda slope: _times(factor, slope, is_positive), slopes)


def _times(factor: Ends, slope: Ends, is_positive: bool) -> Ends:
    """`multiply` for slopes, many of which are 0: a product is exactly 0 where a factor is, and only there stays so.

    For a factor ≥ 0 the product rises with the slope, so its ends are at those of the slope.
    """
    if is_point(factor) or not is_positive:
        low, high = _corners(factor, slope)
    else:
        low = np.minimum(factor.low * slope.low, factor.high * slope.low)
        high = np.maximum(factor.low * slope.high, factor.high * slope.high)
    if not all_finite(low, high):
        return multiply(factor, slope)
    result = outward_finite(low, high)
    tiny_low, tiny_high = np.abs(low) < SMALLEST_NORMAL, np.abs(high) < SMALLEST_NORMAL
    if tiny_low.any() or tiny_high.any():
        # Below the normal numbers a product may be off by half of SMALLEST, however small it is.
        moving = ((slope.low != 0) | (slope.high != 0)) & ((factor.low != 0) | (factor.high != 0))
        result.low = np.where(tiny_low & moving, result.low - SMALLEST, result.low)
        result.high = np.where(tiny_high & moving, result.high + SMALLEST, result.high)
    return result


def _corners(a: Ends, b: Ends) -> tuple[Plain, Plain]:
    products = [x * y for x in _ends(a) for y in _ends(b)]
    return np.asarray(reduce(np.minimum, products)), np.asarray(reduce(np.maximum, products))


def _ends(a: Ends) -> tuple[Plain, ...]:
    return (a.low,) if is_point(a) else (a.low, a.high)


def added(first: Slopes, second: Slopes) -> Slopes:
    """Slopes of a sum."""
    return tuple(_sum(one, other) for one, other in zip(first, second, strict=True))


def _sum(one: Ends | None, other: Ends | None) -> Ends | None:
    if one is None or other is None:
        return other if one is None else one
    return add(one, other)


def dense(slope: Ends | None, like: Ends) -> Ends:
    """A slope as ends, where None is 0."""
    if slope is not None:
        return slope
    return point(np.zeros(np.shape(like.low)))


def point(array: Plain) -> Ends:
    """Both ends at once."""
    return Ends(array, array)


def moved_ends(change: Callable[[Plain], Plain], a: Ends) -> Ends:
    """Entries moved without arithmetic; a point stays one."""
    low = np.asarray(change(a.low))
    return point(low) if is_point(a) else Ends(low, np.asarray(change(a.high)))


def hull(parts: Sequence[Ends], candidates: Sequence[Plain]) -> Ends:
    """From the least to the greatest of the parts that are candidates, entry by entry; each entry has one."""
    lows = [np.where(some, part.low, np.inf) for part, some in zip(parts, candidates, strict=True)]
    highs = [np.where(some, part.high, -np.inf) for part, some in zip(parts, candidates, strict=True)]
    return Ends(np.minimum.reduce(lows), np.maximum.reduce(highs))


def between(one: Ends, other: Ends) -> Ends:
    """What lies in both of two enclosures of one number."""
    return Ends(np.maximum(one.low, other.low), np.minimum(one.high, other.high))
