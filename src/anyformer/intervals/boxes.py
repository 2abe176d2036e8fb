"""Running somebody else's function on boxes: in pieces that fit the cache, and with the box at fault in every error."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anyformer.intervals.arrays import IntervalArray, wrapped
from anyformer.intervals.ends import Ends, Plain, ends_of
from anyformer.intervals.errors import ADVICE, IntervalError

# Rules make several passes over their arguments: arrays of this many entries are still in the cache at the next one.
ENTRIES_AT_ONCE = 2**15


class _Fault(Exception):
    """The bare fact about one call; `enclose` says on which box it happened."""


def enclose(function: Callable[[Any], Any], low: ArrayLike, high: ArrayLike) -> IntervalArray:
    """Enclose the values of `function` on boxes.

    For all real arrays between `low[i]` and `high[i]`, the exact value of the function, and the float64 value that
    NumPy computes unless a step of it is NaN, lie between the ends of entry i of the result. Arithmetic among plain
    arrays, where no interval takes part, is NumPy's own: its float64 result is taken for what the function means.

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
    boxes = IntervalArray(low, high)
    if boxes.ndim != 3:
        raise IntervalError(f"Boxes have the shape (batch, tokens, width); got {boxes.shape}.")
    results = Ends(np.empty(boxes.shape), np.empty(boxes.shape))
    at_once = max(1, ENTRIES_AT_ONCE // max(1, boxes.low[:1].size))
    for start in range(0, len(boxes), at_once):
        piece = slice(start, start + at_once)
        try:
            values = _call(function, boxes.low[piece], boxes.high[piece])
        except _Fault as fault:
            raise _blame(function, boxes.low[piece], boxes.high[piece], fault) from fault.__cause__
        results.low[piece], results.high[piece] = values.low, values.high
    enclosed: IntervalArray = wrapped(results)
    return enclosed


def _call(function: Callable[[Any], Any], low: Plain, high: Plain) -> Ends:
    # The batch lies next to each other in memory, so that reductions over tokens and width run along it.
    x = wrapped(Ends(low.copy(order="F"), high.copy(order="F")))
    try:
        # What overflows in plain arithmetic shows in the result; a warning would say it twice.
        with np.errstate(all="ignore"):
            values = ends_of(function(x))
    except IntervalError as error:
        raise _Fault(str(error)) from error
    except Exception as error:
        raise _Fault(f"On intervals it raised {type(error).__name__}: {error}. {ADVICE}") from error
    if values.low.shape != low.shape:
        raise _Fault(f"It must return the shape of its argument, {low.shape}; got {values.low.shape}.")
    if not (values.low <= values.high).all():
        raise _Fault("Its enclosure has an entry whose ends are NaN or in the wrong order. Report this as a bug.")
    return values


def _blame(function: Callable[[Any], Any], low: Plain, high: Plain, fault: _Fault) -> IntervalError:
    """Halve the boxes, keeping the first half that fails, until the first box that does it alone is left."""
    while len(low) > 1:
        middle = len(low) // 2
        for half in (slice(None, middle), slice(middle, None)):
            try:
                _call(function, low[half], high[half])
            except _Fault as again:
                low, high, fault = low[half], high[half], again
                break
        else:
            return IntervalError(
                f"The function fails on {len(low)} boxes together, though on neither half of them."
                f" It must treat every element of the batch by itself. {fault}"
            )
    return IntervalError(f"On the box from {low[0].tolist()} to {high[0].tolist()}: {fault}")
