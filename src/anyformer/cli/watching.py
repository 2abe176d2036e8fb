"""Watching a training run: a progress bar on a terminal, a line at times in a log; one process reports for all."""

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from anyformer.cli.output import speaks
from anyformer.cli.training_log import Seen, logged
from anyformer.errors import Interrupted

if TYPE_CHECKING:
    from anyformer.training import Schedule


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
    """Steps, loss, speed and time left, on stderr if this process reports: a bar on a terminal, else some lines."""
    from anyformer.reports.terminal import console

    if not speaks():
        yield None
        return
    stderr, seen = console(sys.stderr), Seen(schedule.batch, tokens)
    if not stderr.is_terminal:
        with logged(title, schedule.steps, seen) as log:
            yield log
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        *(TextColumn("{task.description}"), BarColumn(12), MofNCompleteColumn()),
        *(TextColumn("{task.fields[seen]}"), TimeRemainingColumn(compact=True)),
    )
    with Progress(*columns, console=stderr, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(title, total=schedule.steps, seen="")

        def watch(row: Mapping[str, Any]) -> None:
            if seen.is_new:  # a resumed run did not do its first steps just now
                bar.reset(task, completed=row["step"])
            bar.update(task, completed=row["step"], seen=seen.after(row))

        yield watch
