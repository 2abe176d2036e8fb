"""What depends on the order of entries only: extremes, running extremes, sorting, the median. All exact but the last.

Order statistics are increasing in every argument: the k-th smallest of x₁ … xₙ is the least t such that k of them are
≤ t, and raising any xᵢ can only make fewer of them ≤ t. So for members between the ends the k-th smallest lies between
the k-th smallest low end and the k-th smallest high end, although these may come from different entries.
"""

from typing import Any

import numpy as np

from anyformer.intervals.arithmetic import subtract
from anyformer.intervals.ends import Ends
from anyformer.intervals.sums import mean


def greatest(a: Ends, axis: Any = None, keepdims: bool = False) -> Ends:
    """The greatest entry along the axes."""
    return Ends(*(np.asarray(end.max(axis=axis, keepdims=keepdims)) for end in (a.low, a.high)))


def least(a: Ends, axis: Any = None, keepdims: bool = False) -> Ends:
    """The least entry along the axes."""
    return Ends(*(np.asarray(end.min(axis=axis, keepdims=keepdims)) for end in (a.low, a.high)))


def spread(a: Ends, axis: Any = None, keepdims: bool = False) -> Ends:
    """The greatest entry minus the least."""
    return subtract(greatest(a, axis, keepdims), least(a, axis, keepdims))


def running_maximum(a: Ends, axis: int = 0) -> Ends:
    """The greatest of the first 1, 2, … entries along an axis."""
    return Ends(np.maximum.accumulate(a.low, axis), np.maximum.accumulate(a.high, axis))


def running_minimum(a: Ends, axis: int = 0) -> Ends:
    """The least of the first 1, 2, … entries along an axis."""
    return Ends(np.minimum.accumulate(a.low, axis), np.minimum.accumulate(a.high, axis))


def ordered(a: Ends, axis: int | None = -1, kind: Any = None) -> Ends:
    """The entries sorted along an axis. Equal numbers are alike, so that the kind of sort makes no difference."""
    del kind
    return Ends(np.sort(a.low, axis=axis), np.sort(a.high, axis=axis))


def median(a: Ends, axis: int | None = None, keepdims: bool = False) -> Ends:
    """The middle entry, or the mean of the two middle ones."""
    entries = a.low.size if axis is None else a.low.shape[axis]
    sorted_ends = ordered(a, axis)
    along = 0 if axis is None else axis
    middle = np.arange((entries - 1) // 2, entries // 2 + 1)
    result = mean(Ends(*(np.take(end, middle, along) for end in (sorted_ends.low, sorted_ends.high))), along)
    if not keepdims:
        return result
    shape = [1 if axis is None or at == axis % a.low.ndim else size for at, size in enumerate(a.low.shape)]
    return Ends(result.low.reshape(shape), result.high.reshape(shape))
