"""How large an output entry of the target can be on a box: a bound that holds, and a value that is taken.

The box is cut where the bound is largest, along the side that matters most there, until the bound is near the value or
the work is used up. Every bound is an enclosure of the target's formula (`targets/ranges.py`), rounded outwards.
"""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.errors import ExportError
from anyformer.exports.vnnlib.properties import Sense
from anyformer.intervals import IntervalError
from anyformer.targets.ranges import can_have_slopes, forms_on_boxes, range_on_boxes
from anyformer.targets.target import Target

MOST_BOXES = 2048
# Boxes that are cut in one go.
AT_ONCE = 64
# Sums of as many terms as there are inputs, each rounded to nearest, are off by less than this factor.
UPWARDS = 1 + 2.0**-40


@dataclass(frozen=True)
class Extreme:
    """The greatest sense.sign · f(x) over a box: at most `bound`, at least `taken`."""

    bound: float
    taken: float


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Boxes with a bound each, how much each side contributes to it, and a point where it may be reached."""

    low: Array
    high: Array
    bound: Array
    shares: Array
    best: Array


def extreme(target: Target, low: Array, high: Array, entry: tuple[int, int], sense: Sense, near: float) -> Extreme:
    """Bound an output entry of the target on the box between `low` and `high`, both (tokens, width).

    Args:
        target: a function that can be run on intervals.
        low: the lower corner.
        high: the upper corner.
        entry: (token, coordinate) of the output.
        sense: AT_LEAST for how large the entry can be; AT_MOST for how small, as how large its negative can be.
        near: how far apart the bound and the value may stay.

    Raises:
        ExportError: if nothing is known of the target there.
    """
    try:
        boxes = _bounded(target, low[None], high[None], entry, sense)
    except IntervalError as error:
        raise ExportError(f"the target must run on intervals, as its range decides the verdicts: {error}") from error
    taken, done = _taken(target, boxes, entry, sense), 1
    while done < MOST_BOXES and boxes.bound.max() - taken > near:
        order: Integers = np.argsort(-boxes.bound, kind="stable").astype(np.int64)
        cut, kept = order[:AT_ONCE], order[AT_ONCE:]
        halves = _bounded(target, *_halved(boxes, cut), entry, sense)
        done += len(halves.bound)
        taken = max(taken, _taken(target, halves, entry, sense))
        boxes = _joined(boxes, kept, halves)
    bound = float(boxes.bound.max())
    if not np.isfinite(bound):
        raise ExportError("the target must be bounded on the domain; on intervals, nothing is known of it there.")
    return Extreme(bound, taken)


def _bounded(target: Target, low: Array, high: Array, entry: tuple[int, int], sense: Sense) -> _Boxes:
    place, sign = (slice(None), *entry), sense.sign
    if not can_have_slopes(target):
        lows, highs = range_on_boxes(target, low, high)
        sides = (high - low).reshape(len(low), -1)
        return _Boxes(low, high, sign * (highs if sign > 0 else lows)[place], sides, (low + high) / 2)
    forms = forms_on_boxes(target, low, high)
    values = sign * (forms.values.high if sign > 0 else forms.values.low)[place]
    centre = sign * (forms.centre.high if sign > 0 else forms.centre.low)[place]
    radii = np.maximum(high - forms.centres, forms.centres - low).reshape(len(low), -1) * UPWARDS
    with np.errstate(invalid="ignore"):
        ends = forms.slopes.low[:, :, *entry], forms.slopes.high[:, :, *entry]
        slopes = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
        rising = (sign * (ends[0] + ends[1]) > 0).reshape(low.shape)
        shares = np.where(radii == 0, 0.0, slopes * radii)
        by_slopes = centre + shares.sum(axis=1) * UPWARDS
    # A sum with the centre is rounded once more.
    by_slopes = np.nextafter(np.where(np.isnan(by_slopes), np.inf, by_slopes), np.inf)
    known = np.where(np.isfinite(shares), shares, radii)
    shares = np.where(known.any(axis=1, keepdims=True), known, radii)
    return _Boxes(low, high, np.minimum(values, by_slopes), shares, np.where(rising, high, low))


def _taken(target: Target, boxes: _Boxes, entry: tuple[int, int], sense: Sense) -> float:
    """The largest value at a centre or at some corners of a box."""
    points = np.concatenate([(boxes.low + boxes.high) / 2, boxes.low, boxes.high, boxes.best])
    return float((sense.sign * target(points)[:, *entry]).max())


def _halved(boxes: _Boxes, cut: Integers) -> tuple[Array, Array]:
    """Both halves of some boxes, each cut along the side with the largest share."""
    low, high = boxes.low[cut], boxes.high[cut]
    shape, flat = low.shape, (len(low), -1)
    rows, sides = np.arange(len(low)), boxes.shares[cut].argmax(axis=1)
    middle = ((low + high) / 2).reshape(flat)[rows, sides]
    left, right = high.reshape(flat).copy(), low.reshape(flat).copy()
    left[rows, sides], right[rows, sides] = middle, middle
    return np.concatenate([low, right.reshape(shape)]), np.concatenate([left.reshape(shape), high])


def _joined(boxes: _Boxes, kept: Integers, new: _Boxes) -> _Boxes:
    pairs = [(getattr(boxes, name)[kept], getattr(new, name)) for name in ("low", "high", "bound", "shares", "best")]
    return _Boxes(*(np.concatenate(pair) for pair in pairs))
