"""np.piecewise, where it is decided which entries every function gets.

NumPy calls each function on the entries that its condition picks, all at once, and not at all if there are none. The
result of a function for one entry may depend on the other entries. So an undecided condition can be followed only if it
sets a number.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyformer.intervals.conditions import decided, logical_not, logical_or, where
from anyformer.intervals.ends import Ends, Held, ends_of, is_truth, opened, truth_of
from anyformer.intervals.errors import IntervalError

_UNDECIDED = (
    "np.piecewise calls its functions on the entries that a condition picks, and on this box a condition is undecided:"
    " which entries those are differs from member to member. Write np.where(condition, f(x), g(x))."
)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Ends:
    """Set entry by entry what the last condition that holds says; 0 where none does."""
    if not isinstance(x, Held) or is_truth(x):
        raise IntervalError("np.piecewise on intervals takes an interval array x; got another type. Use np.where.")
    shape = opened(x).low.shape
    conditions = _with_otherwise([_of_shape(truth_of(c), shape) for c in _listed(x, condlist)], len(funclist))
    result = Ends(np.zeros(shape), np.zeros(shape))
    for condition, function in zip(conditions, funclist, strict=True):
        if callable(function):
            _apply(result, condition, x, function, *args, **kw)
        elif np.ndim(function) > 0:
            raise IntervalError("np.piecewise on intervals takes functions and numbers; got an array. Use np.where.")
        else:
            result = where(condition, function, result)
    return result


def _listed(x: Any, condlist: Any) -> list[Any]:
    """A single condition stands for a list of one, as in NumPy."""
    is_one = np.isscalar(condlist) or (not isinstance(condlist[0], (list, np.ndarray)) and x.ndim != 0)
    listed = [condlist] if is_one else list(condlist)
    if not all(is_truth(condition) for condition in listed):
        raise IntervalError("np.piecewise on intervals takes conditions made of booleans; got others. Write x != 0.")
    return listed


def _of_shape(condition: Ends, shape: tuple[int, ...]) -> Ends:
    if condition.low.shape != shape:
        raise IntervalError(
            f"np.piecewise on intervals takes conditions of the shape of x, {shape}; got {condition.low.shape}."
        )
    return condition


def _with_otherwise(conditions: list[Ends], functions: int) -> list[Ends]:
    if len(conditions) == functions:
        return conditions
    if len(conditions) != functions - 1:
        raise ValueError(f"with {len(conditions)} condition(s), either as many or one more functions are expected")
    some = conditions[0]
    for condition in conditions[1:]:
        some = logical_or(some, condition)
    return [*conditions, logical_not(some)]


def _apply(result: Ends, condition: Ends, x: Any, function: Callable[..., Any], *args: Any, **kw: Any) -> None:
    if not decided(condition):
        raise IntervalError(_UNDECIDED)
    picked = condition.low
    if picked.any():
        values = ends_of(function(x[picked], *args, **kw))
        result.low[picked], result.high[picked] = values.low, values.high
