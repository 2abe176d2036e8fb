"""Slopes of sums and of what is made of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyformer.errors import NoSlopes
from anyformer.intervals.ends import Ends, Held, ends_of
from anyformer.intervals.rules.elementwise.arithmetic import absolute, divide, square, subtract
from anyformer.intervals.rules.reductions import averages, sums
from anyformer.intervals.rules.reductions.axes import axes_of
from anyformer.intervals.slopes import elementwise
from anyformer.intervals.slopes.elementwise_of_two import minus, over, share
from anyformer.intervals.slopes.forms import Form, Slopes, each, moved_ends, scaled
from anyformer.intervals.slopes.orders import extreme


def linear(rule: Callable[..., Ends]) -> Callable[..., Slopes]:
    """What a linear rule does to values it does to slopes."""

    def slopes(y: Form, a: Form, **how: Any) -> Slopes:
        return each(lambda slope: rule(slope, **how), a.slopes)

    return slopes


def differences(y: Form, a: Form, prepend: Any = None, append: Any = None, **how: Any) -> Slopes:
    """np.diff of the array alone."""
    if prepend is not None or append is not None:
        raise NoSlopes
    return linear(sums.differences)(y, a, **how)


def average(y: Form, a: Form, weights: Any = None, **how: Any) -> Slopes:
    """A weighted average with plain weights is linear."""
    if isinstance(weights, Held):
        raise NoSlopes
    return each(lambda slope: averages.average(slope, weights=weights, **how), a.slopes)


def variance(y: Form, a: Form, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Slopes:
    """Step by step, as the values are computed."""
    return _variance(a, axis, ddof, keepdims).slopes


def standard_deviation(y: Form, a: Form, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Slopes:
    """The root of the variance."""
    return elementwise.OF_ONE[np.sqrt](y, _variance(a, axis, ddof, keepdims))


def _variance(a: Form, axis: Any, ddof: float, keepdims: bool) -> Form:
    mean = a.each(lambda part: sums.mean(part, axis, keepdims=True))
    deviation = step(subtract, minus, a, mean)
    squares = step(square, elementwise.OF_ONE[np.square], deviation)
    total = squares.each(lambda part: sums.total(part, axis, keepdims))
    count = ends_of(max(sums.count(a.box.low.shape, axis) - ddof, 0))
    return step(divide, over, total, Form(count, count, (None,) * len(a.slopes)))


def norm(y: Form, a: Form, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Slopes:
    """Vector norms, as the values are computed."""
    if ord is None or ord == 2:
        squares = step(square, elementwise.OF_ONE[np.square], a)
        return elementwise.OF_ONE[np.sqrt](y, squares.each(lambda part: sums.total(part, axis, keepdims)))
    sizes = step(absolute, elementwise.OF_ONE[np.absolute], a)
    if ord == 1:
        return linear(sums.total)(y, sizes, axis=axis, keepdims=keepdims)
    return extreme(y, sizes, axis, keepdims)


def step(rule: Callable[..., Ends], slopes: Callable[..., Slopes], *operands: Form) -> Form:
    """One step of a composed rule."""
    box, centre = rule(*(form.box for form in operands)), rule(*(form.centre for form in operands))
    y = Form(box, centre, ())
    return Form(box, centre, slopes(y, *operands))


def log_of_sum_of_powers(exponential: np.ufunc) -> Callable[..., Slopes]:
    """By the mean value theorem, exp(aᵢ − y) at some point in between is the slope of y in aᵢ."""

    def slopes(y: Form, a: Form, axis: Any = 0, keepdims: bool = False) -> Slopes:
        axes = axes_of(a.box.low.ndim, axis)
        whole = y.box if keepdims else moved_ends(lambda end: np.expand_dims(end, axes), y.box)
        weighted = scaled(share(exponential, a.box, whole), a.slopes)
        return each(lambda slope: sums.total(slope, axis, keepdims), weighted)

    return slopes
