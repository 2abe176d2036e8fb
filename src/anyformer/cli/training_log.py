"""What a training run says in a log: a line when it starts, few in between, and one when it ends."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

SMOOTH = 0.9
"""The share of earlier steps in the loss that is shown (an exponential average)."""
OFTEN, RARELY = 60.0, 600.0
"""Seconds between lines in a log: as few as OFTEN if a SHARE of the steps was done in them, and RARELY at most."""
SHARE = 0.05


@contextlib.contextmanager
def logged(
    title: str,
    steps: int,
    seen: "Seen",
    clock: Callable[[], float] = time.monotonic,
    write: Callable[[str], None] | None = None,
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A line when a run starts, few in between, and one at its end.

    Args:
        title: of the run, at the start of each line.
        steps: how many there are.
        seen: the loss and the speed.
        clock: seconds since some time.
        write: takes a line; by default stderr does.
    """
    log = _Log(title, steps, seen, clock, write or _to_stderr)
    yield log
    log.end()


class _Log:
    def __init__(
        self, title: str, steps: int, seen: "Seen", clock: Callable[[], float], write: Callable[[str], None]
    ) -> None:
        self._title, self._steps, self._seen, self._clock, self._write = title, steps, seen, clock, write
        self._step, self._text = 0, ""
        self._told: tuple[int, float] | None = None
        """The step and the time of the last line."""
        self._first: tuple[int, float] | None = None

    def __call__(self, row: Mapping[str, Any]) -> None:
        """Another row of measurements."""
        self._step, self._text = row["step"], self._seen.after(row)
        self._first = self._first or (self._step, self._clock())
        # What is measured after the last step comes in a row of its own, and `end` tells both.
        if self._told is None or (self._step < self._steps and self._is_due(*self._told)):
            self._tell()

    def end(self) -> None:
        """The last line, if there was a first."""
        if self._told is not None:
            self._tell()

    def _is_due(self, step: int, time: float) -> bool:
        passed = self._clock() - time
        return passed >= RARELY or (passed >= OFTEN and self._step - step >= SHARE * self._steps)

    def _tell(self) -> None:
        self._told = self._step, self._clock()
        parts = (f"step {self._step} of {self._steps}", self._text, self._left())
        self._write(": ".join(text for text in (self._title, ", ".join(part for part in parts if part)) if text))

    def _left(self) -> str:
        from anyformer.reports.terminal import duration

        assert self._first is not None
        done, seconds = self._step - self._first[0], self._clock() - self._first[1]
        left = self._steps - self._step
        return f"{duration(seconds / done * left)} left" if done > 0 and left > 0 else ""


def _to_stderr(line: str) -> None:
    from anyformer.reports.terminal import visible

    print(visible(line), file=sys.stderr, flush=True)


class Seen:
    """The loss and the speed, shown beside the number of steps."""

    def __init__(self, batch: int, tokens: int | None) -> None:
        self._unit, self._a_step = ("sequences", batch) if tokens is None else ("tokens", batch * tokens)
        self._first: tuple[int, float] | None = None
        self._loss: float | None = None
        self._measured = self._speed = ""

    @property
    def is_new(self) -> bool:
        """Whether no loss has come in yet."""
        return self._loss is None

    def after(self, row: Mapping[str, Any]) -> str:
        """The text after another row of measurements."""
        if "loss" in row:
            before = row["loss"] if self._loss is None else self._loss
            self._loss = SMOOTH * before + (1 - SMOOTH) * row["loss"]
            self._first = self._first or (row["step"], row["seconds"])
            steps, seconds = row["step"] - self._first[0], row["seconds"] - self._first[1]
            self._speed = f"{steps * self._a_step / seconds:,.0f} {self._unit}/s" if seconds > 0 else ""
        else:
            name = next(name for name in row if name != "step")
            self._measured = f"{name.replace('validation_loss', 'held out')} {row[name]:.3f}"
        loss = "" if self._loss is None else f"loss {self._loss:.3f}"
        return ", ".join(text for text in (loss, self._measured, self._speed) if text)
