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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anyformer.intervals.arrays import IntervalArray, seen
from anyformer.intervals.ends import Ends, ends_of
from anyformer.intervals.errors import ADVICE, IntervalError
from anyformer.intervals.runs import Run, running

# Rules make several passes over their arguments: arrays of this many entries are still in the cache at the next one.
ENTRIES_AT_ONCE = 2**15
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
    results, reasons = Ends(np.empty(boxes.low.shape), np.empty(boxes.low.shape)), []
    at_once = max(1, ENTRIES_AT_ONCE // max(1, boxes.low[:1].size))
    for start in range(0, len(boxes.low), at_once):
        piece = slice(start, start + at_once)
        values, reason = _enclosed(function, Ends(boxes.low[piece], boxes.high[piece]))
        results.low[piece], results.high[piece] = values.low, values.high
        reasons.append(reason)
    return _shown(results, reasons)


def enclose_each(function: Callable[[Any], Any], low: ArrayLike, high: ArrayLike) -> IntervalArray:
    """The same for a function that takes one (tokens, width) array: box by box."""
    boxes = _boxes(low, high)
    results, reasons = _nothing(boxes.low.shape), []
    for at in range(len(boxes.low)):
        box = Ends(boxes.low[at], boxes.high[at])
        try:
            run, values = _run(function, box, None)
        except _Fault as fault:
            raise _error(box, str(fault)) from fault.__cause__
        if values is None:
            reasons.append(_on_box(box, str(run.reason)))
        else:
            results.low[at], results.high[at] = values.low, values.high
    return _shown(results, reasons)


def _boxes(low: ArrayLike, high: ArrayLike) -> Ends:
    boxes = IntervalArray(low, high)
    if boxes.ndim != 3:
        raise IntervalError(f"Boxes have the shape (batch, tokens, width); got {boxes.shape}.")
    return ends_of(boxes)


def _nothing(shape: tuple[int, ...]) -> Ends:
    return Ends(np.full(shape, -np.inf), np.full(shape, np.inf))


def _shown(results: Ends, reasons: Sequence[str | None]) -> IntervalArray:
    # The result belongs to no run, even if a function calls `enclose` itself.
    with running(None):
        enclosed: IntervalArray = seen(results, why_unknown=next(filter(None, reasons), None))
    return enclosed


def _enclosed(function: Callable[[Any], Any], boxes: Ends) -> tuple[Ends, str | None]:
    """The enclosure on the boxes of one piece, and for the first unknown box the reason."""
    run, values = _followed(function, boxes)
    return (values, None) if values is not None else _told_apart(function, boxes, run)


def _told_apart(function: Callable[[Any], Any], boxes: Ends, run: Run) -> tuple[Ends, str]:
    """Run the function without the suspects of the run before, until no step is left without a value."""
    results, reasons, waiting = _nothing(boxes.low.shape), dict[int, str](), []
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
        run, values = _followed(function, Ends(boxes.low[which], boxes.high[which]))
        if values is not None:
            results.low[which], results.high[which] = values.low, values.high
    first = min(reasons, default=0)
    return results, _on_box(Ends(boxes.low[first], boxes.high[first]), reasons.get(first, str(run.reason)))


def _followed(function: Callable[[Any], Any], boxes: Ends) -> tuple[Run, Ends | None]:
    try:
        return _run(function, boxes, len(boxes.low))
    except _Fault as fault:
        raise _blame(function, boxes, fault) from fault.__cause__


def _run(function: Callable[[Any], Any], boxes: Ends, batch: int | None) -> tuple[Run, Ends | None]:
    """Run the function; no values if some step has none. Raises _Fault for what cannot be followed.

    What goes wrong after a step without a value may be due to it: then it does not count.
    """
    run = Run(batch)
    with running(run):
        try:
            # The batch lies next to each other in memory, so that reductions over tokens and width run along it.
            x = seen(Ends(boxes.low.copy(order="F"), boxes.high.copy(order="F")))
            values = _call(function, x, run)
        except _Fault:
            if run.is_defined:
                raise
            return run, None
    return run, values if run.is_defined else None


def _call(function: Callable[[Any], Any], x: Any, run: Run) -> Ends:
    try:
        # Overflow in plain arithmetic shows in the result; a warning would only repeat this.
        with np.errstate(all="ignore"):
            values = ends_of(function(x))
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
    return values


def _fault(error: Exception) -> _Fault:
    if isinstance(error, IntervalError):
        return _Fault(str(error))
    said = str(error).removesuffix(".")
    return _Fault(f"On intervals it raised {type(error).__name__}: {said}. {ADVICE}")


def _blame(function: Callable[[Any], Any], boxes: Ends, fault: _Fault) -> IntervalError:
    """Halve the boxes, keeping the first half that fails, until one box is left that fails alone."""
    while len(boxes.low) > 1:
        middle = len(boxes.low) // 2
        for half in (slice(None, middle), slice(middle, None)):
            some = Ends(boxes.low[half], boxes.high[half])
            try:
                _run(function, some, len(some.low))
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
