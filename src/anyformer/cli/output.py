"""Results go to stdout, as text or as one JSON object; progress and what a user's function prints go to stderr."""

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from anyformer.workers import Progress

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


@contextlib.contextmanager
def at_work(label: str) -> Iterator["Progress | None"]:
    """While a proof is under way: a progress bar on stderr if that is a terminal.

    Whatever a user's function prints goes to stderr as well: stdout is for the result.
    """
    import numpy as np

    from anyformer.reports.terminal import console

    stderr = console(sys.stderr)
    # An overflow shows in the results, which are checked; NumPy's warnings would only name lines of our files.
    with contextlib.redirect_stdout(sys.stderr), np.errstate(all="ignore"):
        if not stderr.is_terminal:
            yield None
            return
        from rich.progress import Progress as Bar

        with Bar(console=stderr, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, of: bar.update(task, completed=done, total=of)
