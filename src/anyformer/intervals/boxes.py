"""Running a user's function on boxes: in pieces that fit the cache, and with the faulty box in every error.

Why an enclosure holds. Let x be a member of a box, and run the function on x by NumPy and on the box by intervals, side
by side. As long as the function takes the same steps, every array of the first run lies between the ends of its
counterpart in the second one: each rule shows this for its step, views are views in both (`memory`), and anything that
reveals an interval (`methods`) or makes the two runs differ (an undecided `if`) is refused. A refusal counts even if
the function catches it. A step may have no value for x only if the box is recorded as suspect (`runs`); then nothing is
said of that box. So only this is left to trust: the function depends on its argument alone, treats every element of the
batch separately, and does not look behind NumPy's interface, as type(x) and id(x) do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyformer.intervals.arrays import IntervalArray, seen
from anyformer.intervals.ends import Ends, ends_of
from anyformer.intervals.errors import ADVICE, IntervalError
from anyformer.intervals.following import Forms, Values, centres_of, nothing_known
from anyformer.intervals.runs import Run, running

# Boxes of a piece that are not settled after so many runs count as unknown. One suspect takes 2·log₂ of the boxes at
# most.
MOST_RUNS = 256


class _Fault(Exception):
    """The bare fact about one call; `enclose` says on which box it happened."""


def enclose(function: Callable[[Any], Any], low: ArrayLike, high: ArrayLike) -> IntervalArray:
    """Enclose the values of `function` on boxes.

    For all real arrays between `low[i]` and `high[i]`, the exact value of the function and the float64 value that NumPy
    computes lie between the ends of entry i of the result. Arithmetic among plain arrays, where no interval takes part,
    is NumPy's own: its float64 result is taken for what the function means. If some step may have no value for members
    of a box, as √x for x < 0, nothing is known of any entry there: all ends are infinite, and `why_unknown` says why.

    Args:
        function: Takes (batch, tokens, width), returns that shape, and treats every element of the batch by itself.
        low: Lower corners of the boxes, (batch, tokens, width).
        high: Upper corners, of the same shape.

    Returns:
        An interval array (batch, tokens, width). Ends are infinite where nothing is known.

    Raises:
        IntervalError: With the first box on which the function does something that intervals cannot follow.

    Example:
        >>> result = enclose(lambda x: np.maximum(x, 0.5), [[[0.0], [1.0]]], [[[1.0], [2.0]]])
        >>> result.low.tolist(), result.high.tolist()
        ([[[0.5], [1.0]]], [[[1.0], [2.0]]])
    """
    boxes = _boxes(low, high)
    return _shown(*_in_pieces(Values(function), boxes, boxes.low.shape))


@dataclass(frozen=True, eq=False)
class MeanValueForms:
    """A function on boxes: for x in box i, f(x) lies in values[i], and in centre[i] + Σₖ slopes[i, k]·(xₖ − cₖ).

    The inputs k are the entries of a sequence, row by row; c = `centres[i]` lies in the box. Ends are infinite where
    nothing is known. The sum holds for the exact value, `values` for NumPy's float64 value as well.
    """

    centres: NDArray[np.float64]
    values: IntervalArray
    centre: IntervalArray
    slopes: IntervalArray


def enclose_slopes(function: Callable[[Any], Any], low: ArrayLike, high: ArrayLike) -> MeanValueForms:
    """Enclose the values of `function` on boxes as `enclose` does, and how they differ from the value at the centre.

    Args:
        function: Takes (batch, tokens, width), returns that shape, and treats every element of the batch by itself.
        low: Lower corners of the boxes, (batch, tokens, width).
        high: Upper corners, of the same shape.

    Returns:
        Values and values at the centres, (batch, tokens, width), and slopes, (batch, inputs, tokens, width).

    Raises:
        IntervalError: With the first box on which the function does something that intervals cannot follow.

    Example:
        >>> forms = enclose_slopes(lambda x: x**2, [[[0.0]]], [[[1.0]]])
        >>> forms.centres.item(), round(forms.slopes.low.item(), 9), round(forms.slopes.high.item(), 9)
        (0.5, 0.5, 1.5)
    """
    boxes = _boxes(low, high)
    return _forms_shown(boxes, *_in_pieces(Forms(function), boxes, _shape_of_forms(boxes)))


def _shape_of_forms(boxes: Ends) -> tuple[int, ...]:
    """Values, values at the centre and slopes in a row for every box."""
    batch, tokens, width = boxes.low.shape
    return batch, 2 + tokens * width, tokens, width


def _forms_shown(boxes: Ends, results: Ends, reasons: Sequence[str | None]) -> MeanValueForms:
    parts = [_shown(Ends(results.low[:, at], results.high[:, at]), reasons) for at in (0, 1, slice(2, None))]
    return MeanValueForms(centres_of(boxes), *parts)


def _in_pieces(follower: Values, boxes: Ends, shape: tuple[int, ...]) -> tuple[Ends, list[str | None]]:
    """What is enclosed on all boxes, an array of the given shape, and for each piece why something is unknown."""
    results, reasons = Ends(np.empty(shape, order="F"), np.empty(shape, order="F")), list[str | None]()
    at_once = follower.boxes_at_once(max(1, boxes.low[:1].size))
    for start in range(0, len(boxes.low), at_once):
        piece = slice(start, start + at_once)
        values, reason = _enclosed(follower, Ends(boxes.low[piece], boxes.high[piece]), shape[1:])
        results.low[piece], results.high[piece] = values.low, values.high
        reasons.append(reason)
    return results, reasons


def enclose_each(function: Callable[[Any], Any], low: ArrayLike, high: ArrayLike) -> IntervalArray:
    """`enclose` for a function that takes one (tokens, width) array: box by box."""
    boxes = _boxes(low, high)
    return _shown(*_one_by_one(Values(function), boxes, boxes.low.shape))


def enclose_slopes_each(function: Callable[[Any], Any], low: ArrayLike, high: ArrayLike) -> MeanValueForms:
    """`enclose_slopes` for a function that takes one (tokens, width) array: box by box."""
    boxes = _boxes(low, high)
    return _forms_shown(boxes, *_one_by_one(Forms(function), boxes, _shape_of_forms(boxes)))


def _one_by_one(follower: Values, boxes: Ends, shape: tuple[int, ...]) -> tuple[Ends, list[str | None]]:
    results, reasons = nothing_known(shape), list[str | None]()
    for at in range(len(boxes.low)):
        box = Ends(boxes.low[at], boxes.high[at])
        try:
            run, values = _run(follower, box, None)
        except _Fault as fault:
            raise _error(box, str(fault)) from fault.__cause__
        if values is None:
            reasons.append(_on_box(box, str(run.reason)))
        else:
            results.low[at], results.high[at] = values.low, values.high
    return results, reasons


def _boxes(low: ArrayLike, high: ArrayLike) -> Ends:
    boxes = IntervalArray(low, high)
    if boxes.ndim != 3:
        raise IntervalError(f"Boxes have the shape (batch, tokens, width); got {boxes.shape}.")
    return ends_of(boxes)


def _shown(results: Ends, reasons: Sequence[str | None]) -> IntervalArray:
    # The result belongs to no run, even if a function calls `enclose` itself.
    with running(None):
        enclosed: IntervalArray = seen(results, why_unknown=next(filter(None, reasons), None))
    return enclosed


def _enclosed(follower: Values, boxes: Ends, entry: tuple[int, ...]) -> tuple[Ends, str | None]:
    """The enclosure on the boxes of one piece, and for the first unknown box the reason."""
    run, values = _followed(follower, boxes)
    return (values, None) if values is not None else _told_apart(follower, boxes, entry, run)


def _told_apart(follower: Values, boxes: Ends, entry: tuple[int, ...], run: Run) -> tuple[Ends, str]:
    """Run the function without the suspects of the run before, until no step is left without a value."""
    results, reasons, waiting = nothing_known((len(boxes.low), *entry)), dict[int, str](), []
    which, values = np.arange(len(boxes.low)), None
    for _ in range(MOST_RUNS):
        if values is None:
            rest = run.rest(which)
            waiting += rest
            if len(rest) < 2:
                reasons[int(which[run.suspects.argmax()])] = str(run.reason)
        if not waiting:
            break
        which = waiting.pop()
        run, values = _followed(follower, Ends(boxes.low[which], boxes.high[which]))
        if values is not None:
            results.low[which], results.high[which] = values.low, values.high
    first = min(reasons, default=0)
    return results, _on_box(Ends(boxes.low[first], boxes.high[first]), reasons.get(first, str(run.reason)))


def _followed(follower: Values, boxes: Ends) -> tuple[Run, Ends | None]:
    try:
        return _run(follower, boxes, len(boxes.low))
    except _Fault as fault:
        raise _blame(follower, boxes, fault) from fault.__cause__


def _run(follower: Values, boxes: Ends, batch: int | None) -> tuple[Run, Ends | None]:
    """Run the function; no values if some step has none. Raises _Fault for what cannot be followed.

    What goes wrong after a step without a value may be due to it: then it does not count.
    """
    run = follower.run(batch, boxes.low.size // (batch or 1))
    with running(run):
        try:
            values = _call(follower, follower.start(boxes), run)
        except _Fault:
            if run.is_defined:
                raise
            return run, None
    return run, values if run.is_defined else None


def _call(follower: Values, x: Any, run: Run) -> Ends:
    try:
        # Overflow in plain arithmetic shows in the result; a warning would only repeat this.
        with np.errstate(all="ignore"):
            values = ends_of(result := follower.function(x))
    except IntervalError as error:
        raise _Fault(str(error)) from error
    except Exception as error:
        # The function may have caught a recorded error, and failed because of it.
        first = run.faults[0] if run.faults else error
        raise _fault(first) from error
    if run.faults:
        raise _fault(run.faults[0])
    if values.low.shape != x.shape:
        raise _Fault(f"It must return the shape of its argument, {x.shape}; got {values.low.shape}.")
    if not (values.low <= values.high).all():
        raise _Fault("Its enclosure has an entry whose ends are NaN or in the wrong order. Report this as a bug.")
    return follower.read(result, values)


def _fault(error: Exception) -> _Fault:
    if isinstance(error, IntervalError):
        return _Fault(str(error))
    said = str(error).removesuffix(".")
    return _Fault(f"On intervals it raised {type(error).__name__}: {said}. {ADVICE}")


def _blame(follower: Values, boxes: Ends, fault: _Fault) -> IntervalError:
    """Halve the boxes, keeping the first half that fails, until one box is left that fails alone."""
    while len(boxes.low) > 1:
        middle = len(boxes.low) // 2
        for half in (slice(None, middle), slice(middle, None)):
            some = Ends(boxes.low[half], boxes.high[half])
            try:
                _run(follower, some, len(some.low))
            except _Fault as again:
                boxes, fault = some, again
                break
        else:
            return IntervalError(
                f"The function fails on {len(boxes.low)} boxes together, though on neither half of them."
                f" It must treat every element of the batch by itself. {fault}"
            )
    return _error(Ends(boxes.low[0], boxes.high[0]), str(fault))


def _error(box: Ends, fact: str) -> IntervalError:
    return IntervalError(_on_box(box, fact))


def _on_box(box: Ends, fact: str) -> str:
    return f"On the box from {box.low.tolist()} to {box.high.tolist()}: {fact}"
