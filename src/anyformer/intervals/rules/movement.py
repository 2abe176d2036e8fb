"""Functions that only move, copy or join entries: what they do to arrays they do to both ends.

Each entry of the result is an entry of an argument or a constant, the same one whatever the numbers are. So the result
for members lies between the results for the ends, without any rounding. Whether the result is a view does not depend on
the numbers either: a view of the ends is a view in NumPy, except for reshape and ravel (`memory`).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from anyformer.intervals.conditions import refuse_conditions
from anyformer.intervals.ends import Ends, Held, ends_of, opened
from anyformer.intervals.errors import IntervalError, refuse_options, refuse_order

_MOVES: Final = [
    "transpose",
    "permute_dims",
    "matrix_transpose",
    "swapaxes",
    "moveaxis",
    "rollaxis",
    "squeeze",
    "expand_dims",
    "broadcast_to",
    "broadcast_arrays",
    "flip",
    "fliplr",
    "flipud",
    "rot90",
    "roll",
    "take",
    "take_along_axis",
    "tile",
    "repeat",
    "diagonal",
    "diag",
    "triu",
    "tril",
    "delete",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "split",
    "array_split",
    "hsplit",
    "vsplit",
    "dsplit",
    "unstack",
]

_JOINS: Final = ["stack", "concatenate", "concat", "vstack", "hstack", "dstack", "column_stack", "append"]

_COPYING_PADS: Final = ("constant", "edge", "reflect", "symmetric", "wrap")


# These take several arrays; all others take one, or one sequence of them, first.
_OF_MANY: Final = ("broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d", "append")


def moved_by_plain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Like `moved`, if only what is moved is made of intervals: by how much must be the same for all members."""
    named = [value for name, value in kwargs.items() if args or name in ("axis", "indices", "shift", "repeats", "obj")]
    if any(_holds_intervals(value) for value in (*args[1:], *named)):
        raise IntervalError(
            f"np.{function.__name__} on intervals must be told by plain numbers where entries go; got an interval or a"
            " condition, for which it differs from member to member. Use np.where."
        )
    return moved(function, *args, **kwargs)


def _holds_intervals(value: Any) -> bool:
    return isinstance(value, Held) or (isinstance(value, (list, tuple)) and any(map(_holds_intervals, value)))


def moved(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function that moves entries to both ends of every interval among its arguments."""
    low = function(*_side(args, "low"), **_side(kwargs, "low"))
    high = function(*_side(args, "high"), **_side(kwargs, "high"))
    if isinstance(low, (list, tuple)):
        return type(low)([_checked(*parts) for parts in zip(low, high, strict=True)])
    if np.may_share_memory(low, high):
        # Both ends were written to one array.
        refuse_options("A function that moves entries", {"out": low})
    return _checked(low, high)


def reshaped(a: Any, /, shape: Any, order: str = "C") -> Any:
    """np.reshape, in an order that does not depend on how the array lies in memory."""
    refuse_order("np.reshape", order)
    return moved(np.reshape, a, shape, order=order)


def ravelled(a: Any, order: str = "C") -> Any:
    """np.ravel, likewise."""
    refuse_order("np.ravel", order)
    return moved(np.ravel, a, order=order)


def copied(a: Any, order: str = "C", subok: bool = False) -> Any:
    """np.copy: how the copy lies in memory makes no difference."""
    refuse_order("np.copy", order)
    return moved(np.copy, a)


def joined(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Like `moved` for functions that bring in plain arrays as well, which must not hold NaN."""
    result = moved(function, *args, **kwargs)
    ends_of(result.low)  # raises for NaN
    return result


def moves() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The functions of this NumPy that only move entries, each with its interval version."""
    moving = {getattr(np, name): moved if name in _OF_MANY else moved_by_plain for name in _MOVES if hasattr(np, name)}
    joining = {getattr(np, name): joined for name in _JOINS if hasattr(np, name)}
    return {
        function: partial(rule, function)
        for function, rule in {**moving, **joining, sliding_window_view: moved_by_plain}.items()
    } | {np.reshape: reshaped, np.ravel: ravelled, np.copy: copied}


def padded(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    """np.pad, in the modes that copy entries."""
    if _holds_intervals(pad_width):
        raise IntervalError("np.pad on intervals takes a plain pad_width; got an interval or a condition.")
    if mode not in _COPYING_PADS:
        raise IntervalError(f"np.pad on intervals takes the modes {', '.join(_COPYING_PADS)}; got {mode!r}.")
    options = {"constant_values": ends_of(constant_values)} if mode == "constant" else {}
    return moved(np.pad, array, pad_width, mode=mode, **options)


def zeros_like(a: Any, dtype: Any = None, order: str = "C", subok: bool = True, shape: Any = None) -> Ends:
    """np.zeros_like."""
    return _filled("zeros", a, 0.0, dtype, order, shape)


def ones_like(a: Any, dtype: Any = None, order: str = "C", subok: bool = True, shape: Any = None) -> Ends:
    """np.ones_like."""
    return _filled("ones", a, 1.0, dtype, order, shape)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "C", subok: bool = True, shape: Any = None
) -> Ends:
    """np.full_like."""
    return _filled("full", a, fill_value, dtype, order, shape)


def empty_like(a: Any, dtype: Any = None, order: str = "C", subok: bool = True, shape: Any = None) -> Ends:
    """np.empty_like: nothing is known about entries before they are set."""
    return _filled("empty", a, Ends(np.asarray(-np.inf), np.asarray(np.inf)), dtype, order, shape)


def _filled(name: str, a: Any, value: Any, dtype: Any, order: str, shape: Any) -> Ends:
    """An array of float64 with one value, of the same shape unless another is given."""
    refuse_conditions(f"np.{name}_like", [a])
    refuse_order(f"np.{name}_like", order)
    if not isinstance(a, (Held, Ends)) or (dtype is not None and np.dtype(dtype) != np.float64):
        # Another array would be plain, and lie in memory as `a` does, which NumPy's reshape and ravel go by.
        raise IntervalError(
            f"np.{name}_like(x) on intervals makes arrays of float64; got another type. Write np.{name}(x.shape, …)."
        )
    ends = ends_of(value)
    shape = ends_of(a).low.shape if shape is None else shape
    return Ends(np.full(shape, ends.low), np.full(shape, ends.high))


def _side(value: Any, side: str) -> Any:
    """The argument with every interval in it replaced by one of its ends; numbers as NumPy's numbers."""
    if isinstance(value, Held):
        end = getattr(opened(value), side)
        return end[()] if value._is_number else end
    if isinstance(value, Ends):
        return getattr(value, side)
    if isinstance(value, (list, tuple)):
        return type(value)([_side(part, side) for part in value])
    if isinstance(value, dict):
        return {key: _side(part, side) for key, part in value.items()}
    return value


def _checked(low: Any, high: Any) -> Any:
    """The result as ends; a plain array that came in with the intervals may have brought something else along."""
    if np.may_share_memory(low, high):
        return low  # np.broadcast_arrays returns the plain arrays as well
    if type(low) not in (np.ndarray, np.float64, np.bool_):
        raise IntervalError(f"Intervals are joined with plain arrays only; got {type(low).__name__}.")
    if low.dtype not in (np.float64, np.bool_) or low.dtype != high.dtype:
        raise IntervalError(f"Intervals are joined with float64 numbers and integers only; got {low.dtype}.")
    return Ends(low, high)
