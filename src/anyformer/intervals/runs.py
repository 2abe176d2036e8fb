"""One run of a user's function on boxes: what was refused, and on which boxes a step may have no value.

Two things must be remembered, whatever the function does next.

*Refusals.* A function may catch our error and take another path than it takes on arrays. So every error is recorded
here as well as raised, and `boxes` ignores a run in which one was recorded.

*Steps without a value.* √x, log x, 1/x, ∞ − ∞ … are no number for some arguments; NumPy makes NaN of them, and
`np.where`, `np.fmin`, `np.clip` or a comparison may make a number of that again. So a box on which this may happen is
recorded as suspect, and `boxes` treats all its results as unknown. Which boxes are at fault is guessed from the shape
of the array. The guess need not be right: only a run without suspects counts, and the other boxes are run again.

Runs are found by a context variable: every thread has its own, and a function may call `enclose` itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]

FEW = 8


class Run:
    """What is recorded while a function runs on `batch` boxes at once; None for one box without a batch axis.

    Slopes are followed for so many `inputs`; for none if it is 0.
    """

    __slots__ = ("batch", "faults", "inputs", "reason", "suspects", "unplaced")

    def __init__(self, batch: int | None, inputs: int = 0) -> None:
        self.batch = batch
        self.inputs = inputs
        self.faults: list[Exception] = []
        self.reason: str | None = None
        self.suspects: Mask = np.zeros(batch or 1, dtype=np.bool_)
        self.unplaced = False

    @property
    def is_defined(self) -> bool:
        """Whether every step had a value for all members of all boxes."""
        return self.reason is None

    def suspect(self, entries: Mask, reason: str) -> None:
        """Record that a step may have no value in some entries of an array."""
        self.reason = self.reason or reason
        owners = None if self.batch is None else _owners(entries, self.batch)
        if owners is None:
            self.unplaced = True
        else:
            self.suspects |= owners

    def rest(self, boxes: Numbers) -> list[Numbers]:
        """The boxes to run again: those that are not suspect, or both halves if no box could be singled out."""
        if len(boxes) == 1:
            return []
        if self.suspects.any():
            kept = boxes[~self.suspects]
            return [kept] if len(kept) else []
        middle = len(boxes) // 2
        return [boxes[middle:], boxes[:middle]]


_current: ContextVar[Run | None] = ContextVar("run of a function on intervals", default=None)


def current() -> Run | None:
    """The run that is under way here, if any."""
    return _current.get()


@contextmanager
def running(run: Run | None) -> Iterator[Run | None]:
    """Make this the current run; None means no run."""
    token = _current.set(run)
    try:
        yield run
    finally:
        _current.reset(token)


def record(error: Exception) -> None:
    """Remember an error in the current run, so that it counts even if the function catches it."""
    run = _current.get()
    if run is not None and error not in run.faults:
        run.faults.append(error)


def _owners(entries: Mask, batch: int) -> Mask | None:
    """Which boxes the entries seem to belong to: along the one axis that is as long as the batch, or in equal runs.

    With few boxes no guess is made, since other axes may be as short; running them again finds the faulty ones.
    """
    shape = entries.shape
    if batch <= FEW:
        return None
    if shape.count(batch) == 1:
        axis = shape.index(batch)
        return np.asarray(entries.any(axis=tuple(other for other in range(len(shape)) if other != axis)))
    if shape.count(batch) == 0 and shape and shape[0] % batch == 0:
        return np.asarray(entries.reshape(batch, -1).any(axis=1))
    return None
