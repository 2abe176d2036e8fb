"""Functions that only move, copy or join entries: what they do to arrays they do to both ends.

Each entry of the result is an entry of an argument or a constant, the same one whatever the numbers are. So the result
for members lies between the results for the ends, without any rounding.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from anyformer.intervals.ends import Ends, ends_of
from anyformer.intervals.errors import IntervalError, refuse_options

_MOVES: Final = [
    "reshape",
    "ravel",
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
    "copy",
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


def moved(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function that moves entries to both ends of every interval among its arguments."""
    low = function(*_side(args, "low"), **_side(kwargs, "low"))
    high = function(*_side(args, "high"), **_side(kwargs, "high"))
    if isinstance(low, (list, tuple)):
        return [_checked(*parts) for parts in zip(low, high, strict=True)]
    if np.may_share_memory(low, high):
        # Both ends were written to one array.
        refuse_options("A function that moves entries", {"out": low})
    return _checked(low, high)


def joined(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Like `moved` for functions that bring in plain arrays as well, which must not hold NaN."""
    result = moved(function, *args, **kwargs)
    ends_of(result.low)
    return result


def moves() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The functions of this NumPy that only move entries, each with its interval version."""
    moving = {getattr(np, name): moved for name in _MOVES if hasattr(np, name)}
    joining = {getattr(np, name): joined for name in _JOINS if hasattr(np, name)}
    return {
        function: partial(rule, function)
        for function, rule in {**moving, **joining, sliding_window_view: moved}.items()
    }


def padded(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    """np.pad, in the modes that copy entries."""
    if mode not in _COPYING_PADS:
        raise IntervalError(f"np.pad on intervals takes the modes {', '.join(_COPYING_PADS)}; got {mode!r}.")
    options = {"constant_values": ends_of(constant_values)} if mode == "constant" else {}
    return moved(np.pad, array, pad_width, mode=mode, **options)


def filled_like(a: Ends, value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """An array of the same shape with one value; a plain one if another type than float64 is asked for."""
    shape = a.low.shape if shape is None else shape
    if dtype is not None and np.dtype(dtype) != np.float64:
        return np.full(shape, value, dtype=dtype)
    ends = ends_of(value)
    return Ends(np.full(shape, ends.low), np.full(shape, ends.high))


def unfilled_like(a: Ends, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
    """np.empty_like: nothing is known about entries before they are set."""
    if dtype is not None and np.dtype(dtype) != np.float64:
        return filled_like(a, 0, dtype, shape)
    return filled_like(a, Ends(np.asarray(-np.inf), np.asarray(np.inf)), shape=shape)


def _side(value: Any, side: str) -> Any:
    """The argument with every interval in it replaced by one of its ends."""
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
    if low.dtype not in (np.float64, np.bool_) or low.dtype != high.dtype:
        raise IntervalError(f"Intervals are joined with float64 numbers and integers only; got {low.dtype}.")
    return Ends(low, high)
