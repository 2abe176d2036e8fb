"""Results go to stdout, as text or as one JSON object; progress and what a user's function prints go to stderr."""

import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def speaks() -> bool:
    """Whether this is the first of the processes that share a run; `accelerate launch` and `torchrun` number them."""
    return os.environ.get("RANK", "0") == "0"


def emit(as_json: bool, data: Mapping[str, Any], view: "RenderableType") -> None:
    """Print a result as one JSON object or as text."""
    if as_json:
        emit_json(data)
    else:
        emit_text(view)


def emit_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object on a line."""
    print(json.dumps(_finite(data), allow_nan=False))


def emit_text(view: "RenderableType") -> None:
    """Print text or tables."""
    from anyformer.reports.terminal import console

    console().print(view, crop=False)  # a word that is too wide is not cut


def _finite(value: Any) -> Any:
    """JSON has no infinities: they become null."""
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def note(text: str) -> None:
    """A remark on stderr."""
    if not speaks():
        return
    from anyformer.reports.terminal import visible

    print(f"note: {visible(text)}", file=sys.stderr)


class Work:
    """What is being done and for how long: planning, building, proving, measuring; shown as a bar on a terminal."""

    def __init__(self, show: Callable[[str, int | None, int | None], None]) -> None:
        self._show, self._phase, self._since = show, "", time.perf_counter()
        self.seconds: dict[str, float] = {}
        """By phase, in the order in which they were entered."""

    def enter(self, phase: str) -> None:
        """Begin a phase; the one before ends."""
        self.leave()
        self._phase = phase
        self._show(phase, None, None)

    def leave(self) -> None:
        """End the phase."""
        now = time.perf_counter()
        if self._phase:
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = "", now

    def __call__(self, done: int, of: int) -> None:
        """So much of the phase is done."""
        self._show(self._phase, done, of)


@contextlib.contextmanager
def at_work(phase: str) -> Iterator[Work]:
    """While something takes time: a bar on stderr if that is a terminal, and how long each phase took.

    Whatever a user's function prints goes to stderr as well: stdout is for the result.
    """
    import numpy as np

    from anyformer.reports.terminal import console

    stderr = console(sys.stderr)
    # What overflows shows in the results, which are checked; NumPy's warnings would only tell where our files are.
    bar = _bar(stderr) if stderr.is_terminal else contextlib.nullcontext(lambda *_: None)
    with contextlib.redirect_stdout(sys.stderr), np.errstate(all="ignore"), bar as show:
        work = Work(show)
        work.enter(phase)
        yield work
        work.leave()


@contextlib.contextmanager
def _bar(stderr: "Console") -> Iterator[Callable[[str, int | None, int | None], None]]:
    from rich.progress import Progress as Bar

    with Bar(console=stderr, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task("", total=None)
        yield lambda phase, done, of: bar.update(task, description=phase, completed=done or 0, total=of)
