"""Watching a training run: a progress bar on a terminal, and one process that reports for all."""

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from anyformer.cli.output import speaks
from anyformer.errors import Interrupted

if TYPE_CHECKING:
    from anyformer.training import Schedule

SMOOTH = 0.9
"""The share of earlier steps in the loss that is shown (an exponential average)."""


@contextlib.contextmanager
def a_run() -> Iterator[None]:
    """Run a verb that trains: report missing packages and interruptions, and let only the first process print.

    Raises:
        MissingPackageError: if what training needs is not installed.
        Interrupted: if the user stops it.
    """
    importlib.import_module("anyformer.training")
    try:
        with contextlib.nullcontext() if speaks() else _silence():
            yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted; the same command resumes from the last checkpoint") from None


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


@contextlib.contextmanager
def training_bar(
    title: str, schedule: "Schedule", tokens: int | None = None
) -> Iterator[Callable[[Mapping[str, Any]], None] | None]:
    """Steps, loss, speed and time left, on stderr if that is a terminal and this process reports."""
    from anyformer.reports.terminal import console

    stderr = console(sys.stderr)
    if not (stderr.is_terminal and speaks()):
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        *(TextColumn("{task.description}"), BarColumn(12), MofNCompleteColumn()),
        *(TextColumn("{task.fields[seen]}"), TimeRemainingColumn(compact=True)),
    )
    with Progress(*columns, console=stderr, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(title, total=schedule.steps, seen="")
        seen = _Seen(schedule.batch, tokens)

        def watch(row: Mapping[str, Any]) -> None:
            if seen.is_new:  # a resumed run did not do its first steps just now
                bar.reset(task, completed=row["step"])
            bar.update(task, completed=row["step"], seen=seen.after(row))

        yield watch


class _Seen:
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
