"""What depends on the order of entries only: extremes, running extremes, sorting, partitions. All exact but the spread.

Order statistics are increasing in every argument: the k-th smallest of x₁ … xₙ is the least t such that k of them are
≤ t, and raising any xᵢ can only make fewer of them ≤ t. So for members between the ends the k-th smallest lies between
the k-th smallest low end and the k-th smallest high end, although these may come from different entries.
"""

from typing import Any

import numpy as np

from anyformer.intervals.ends import Ends, Held
from anyformer.intervals.errors import IntervalError
from anyformer.intervals.rules.elementwise.arithmetic import subtract


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


def partitioned(a: Ends, kth: Any, axis: int | None = -1) -> Ends:
    """np.partition: entries `kth` are where sorting puts them; between two of them the order is unspecified.

    What lies between positions i and k are the entries that sorting puts there, in any order. So each of them is
    at least the least and at most the greatest of those.
    """
    if isinstance(kth, Held):
        raise IntervalError("np.partition on intervals takes plain numbers kth; got an interval.")
    entries = ordered(a, axis)
    along = 0 if axis is None else axis
    low, high = (np.moveaxis(end, along, 0) for end in (entries.low, entries.high))
    np.partition(np.arange(len(low)), kth)  # raises as NumPy does
    known = {int(at) % len(low) for at in np.atleast_1d(kth)}
    start = 0
    for at in sorted(known | {len(low)}):
        low[start:at], high[start:at] = low[start : start + 1], high[max(at - 1, 0) : at]
        start = at + 1
    return entries
