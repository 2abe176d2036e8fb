"""Slopes of order statistics: extremes, sorting, running extremes.

The k-th smallest of y₁ … yₙ, minus its value at the centre, lies between the least and the greatest yⱼ(x) − yⱼ(c): if
all of them are at most d, then k of the yⱼ(x) are at most d above the k-th smallest yⱼ(c), and likewise from below. So
it is a mean of these differences with weights tⱼ ≥ 0 that add up to 1, and its slopes lie in the hull of the slopes of
the yⱼ. Entries that are below the k-th smallest on the whole box, or above it, can be left out: the k-th smallest then
has a fixed place among those that remain, the *candidates*, and the same holds for them alone.
"""

from typing import Any

import numpy as np

from anyformer.intervals.ends import Ends, Plain
from anyformer.intervals.rules.reductions.axes import in_front, placed
from anyformer.intervals.slopes.elementwise_of_two import greater, less
from anyformer.intervals.slopes.forms import Form, Slopes, dense, moved_ends


def extreme(y: Form, a: Form, axis: Any = None, keepdims: bool = False) -> Slopes:
    """The greatest or the least entry along axes."""
    shape = np.shape(a.box.low)
    entries = in_front(a.box, axis)
    value = _without(y.box, entries, keepdims)
    candidates = np.asarray((entries.high >= value.low) & (entries.low <= value.high))
    return tuple(
        None if slope is None else placed(_hull(in_front(slope, axis), candidates), shape, axis, keepdims)
        for slope in a.slopes
    )


def _without(value: Ends, entries: Ends, keepdims: bool) -> Ends:
    shape = entries.low.shape[1:]
    return Ends(value.low.reshape(shape), value.high.reshape(shape)) if keepdims else value


def _hull(slopes: Ends, candidates: Plain) -> Ends:
    low = np.where(candidates, slopes.low, np.inf).min(axis=0)
    high = np.where(candidates, slopes.high, -np.inf).max(axis=0)
    return Ends(np.asarray(low), np.asarray(high))


def ordered(y: Form, a: Form, axis: int | None = -1) -> Slopes:
    """The entries sorted along an axis, or all of them in a row."""
    along = 0 if axis is None else axis

    def front(end: Plain) -> Plain:
        return np.moveaxis(end.ravel() if axis is None else end, along, 0)

    entries, values = (Ends(front(form.low), front(form.high)) for form in (a.box, y.box))
    which = [(entries.high >= low) & (entries.low <= high) for low, high in zip(values.low, values.high, strict=True)]

    def sort(slope: Ends) -> Ends:
        moved = moved_ends(front, slope)
        places = [_hull(moved, candidates) for candidates in which]
        return Ends(
            *(np.moveaxis(np.stack(ends), 0, along) for ends in zip(*((p.low, p.high) for p in places), strict=True))
        )

    return tuple(None if slope is None else sort(slope) for slope in a.slopes)


def running_maximum(y: Form, a: Form, axis: int = 0) -> Slopes:
    """The greatest of the first 1, 2, … entries: the maximum of the one before and the next entry."""
    return _running(greater, y, a, axis)


def running_minimum(y: Form, a: Form, axis: int = 0) -> Slopes:
    """Likewise."""
    return _running(less, y, a, axis)


def _running(choose: Any, y: Form, a: Form, axis: int) -> Slopes:
    def at(form: Form, place: int, slopes: Slopes) -> Form:
        return Form(_at(form.box, axis, place), _at(form.centre, axis, place), slopes)

    def own(place: int) -> Slopes:
        return tuple(None if slope is None else _at(slope, axis, place) for slope in a.slopes)

    steps = [own(0)]
    for place in range(1, np.shape(a.box.low)[axis]):
        before, entry = at(y, place - 1, steps[-1]), at(a, place, own(place))
        steps.append(choose(None, before, entry))
    return tuple(
        None if slope is None else _stacked([dense(step[k], _at(a.box, axis, 0)) for step in steps], axis)
        for k, slope in enumerate(a.slopes)
    )


def _at(a: Ends, axis: int, place: int) -> Ends:
    return moved_ends(lambda end: np.take(end, place, axis), a)


def _stacked(parts: list[Ends], axis: int) -> Ends:
    return Ends(np.stack([part.low for part in parts], axis), np.stack([part.high for part in parts], axis))
