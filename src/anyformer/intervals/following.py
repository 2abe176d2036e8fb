"""What is followed while a function runs on boxes: the values alone, or their slopes as well."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.errors import NoSlopes
from anyformer.intervals.arrays import seen
from anyformer.intervals.ends import Ends
from anyformer.intervals.runs import Run
from anyformer.intervals.slopes.forms import Form, dense, form_of, point

# Rules make several passes over their arguments: arrays of this many entries are still in the cache at the next one.
ENTRIES_AT_ONCE = 2**15


@dataclass(frozen=True)
class Values:
    """What is read off a run: the values."""

    function: Callable[[Any], Any]

    def boxes_at_once(self, entries: int) -> int:
        """How many boxes with so many entries to run the function on at once."""
        return max(1, ENTRIES_AT_ONCE // entries)

    def run(self, batch: int | None, entries: int) -> Run:
        """A run to record in."""
        return Run(batch)

    def start(self, boxes: Ends) -> Any:
        """The argument."""
        # The batch lies next to each other in memory, so that reductions over tokens and width run along it.
        return seen(Ends(boxes.low.copy(order="F"), boxes.high.copy(order="F")))

    def read(self, result: Any, values: Ends) -> Ends:
        """What the function returned, as ends."""
        return values


@dataclass(frozen=True)
class Forms(Values):
    """The values, the values at the centre and the slopes, side by side along an axis behind the batch."""

    def boxes_at_once(self, entries: int) -> int:
        """Every array has as many slopes as there are inputs: together they should still be in a larger cache."""
        return max(1, 4 * ENTRIES_AT_ONCE // (entries * (entries + 2)))

    def run(self, batch: int | None, entries: int) -> Run:
        """A run that follows slopes."""
        return Run(batch, entries)

    def start(self, boxes: Ends) -> Any:
        """Each input has the slope 1 in itself and 0 in all others."""
        x = super().start(boxes)
        tokens, width = boxes.low.shape[-2:]
        slopes = []
        for at in range(tokens * width):
            slope = np.zeros(boxes.low.shape, order="F")
            slope[..., at // width, at % width] = 1.0
            slopes.append(point(slope))
        x._carry(Form(x._ends, point(centres_of(x._ends)), tuple(slopes)))
        return x

    def read(self, result: Any, values: Ends) -> Ends:
        """All of them; infinite where the function's slopes are not known."""
        *batch, tokens, width = values.low.shape
        inputs = tokens * width
        try:
            form = form_of(result, inputs)
        except NoSlopes:
            nothing = nothing_known(values.low.shape)
            form = Form(values, nothing, (nothing,) * inputs)
        parts = (values, form.centre, *(dense(slope, values) for slope in form.slopes))
        ends = Ends(*(np.empty((*batch, len(parts), tokens, width), order="F") for _ in range(2)))
        for at, part in enumerate(parts):
            ends.low[..., at, :, :] = np.where(np.isnan(part.low), -np.inf, part.low)
            ends.high[..., at, :, :] = np.where(np.isnan(part.high), np.inf, part.high)
        return ends


def centres_of(boxes: Ends) -> NDArray[np.float64]:
    """A point near the middle of every box, and in it."""
    return np.asarray(np.clip(boxes.low / 2 + boxes.high / 2, boxes.low, boxes.high))


def nothing_known(shape: tuple[int, ...]) -> Ends:
    """Infinite ends."""
    return Ends(np.full(shape, -np.inf), np.full(shape, np.inf))
