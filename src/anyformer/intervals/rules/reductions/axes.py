"""The axes that a function reduces: which they are, all of them as one first axis, and their place in the result."""

from typing import Any

import numpy as np

from anyformer.intervals.ends import Ends, Plain


def axes_of(dimensions: int, axis: Any) -> tuple[int, ...]:
    """The axes as numbers from 0 on; all of them for None. A wrong axis is NumPy's to complain about."""
    if axis is None:
        return tuple(range(dimensions))
    chosen = tuple(int(at) % max(dimensions, 1) for at in np.atleast_1d(axis))
    np.empty((0,) * dimensions).sum(axis=axis)  # raises as NumPy does
    return chosen


def in_front(a: Ends, axis: Any) -> Ends:
    """The entries to be brought together along one first axis, all others behind it."""
    axes = axes_of(a.low.ndim, axis)
    kept = tuple(size for at, size in enumerate(a.low.shape) if at not in axes)
    together = int(np.prod([a.low.shape[at] for at in axes], dtype=np.int64))

    def moved(end: Plain) -> Plain:
        return np.moveaxis(end, axes, range(len(axes))).reshape((together, *kept))

    return Ends(moved(a.low), moved(a.high))


def placed(result: Ends, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Ends:
    """What was made of an array of this shape, with axes of size 1 where `keepdims` asks for them.

    Axes that the function put before all others stay there.
    """
    if not keepdims:
        return result
    axes = axes_of(len(shape), axis)
    full = tuple(1 if at in axes else size for at, size in enumerate(shape))
    before = result.low.shape[: result.low.ndim - (len(shape) - len(axes))]
    return Ends(result.low.reshape(before + full), result.high.reshape(before + full))
