"""Error against size and time: one target built for a row of tolerances, as data and as text."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType

from anyformer.comparison import Attempt
from anyformer.construction.request import Request
from anyformer.reports.comparisons.comparison import (
    asked_data,
    attempt_data,
    axes,
    error,
    note,
    seconds,
    status,
    title,
    whole,
)
from anyformer.reports.terminal import facts, heading, narrow_table, number


def curve_data(request: Request, tried: Iterable[Attempt], output: str | None) -> dict[str, Any]:
    """The curve as a JSON object; `output` is where the picture was written, if it was."""
    points = [{"epsilon": one.request.tolerance, **attempt_data(one)} for one in tried]
    return {**asked_data(request), "points": points, "output": output}


HEADS = (
    *("epsilon", "certi-\nfied", "mea-\nsured", "method", "cells\nper\naxis"),
    *("layers", "para-\nmeters", "build\n(s)"),
)


def curve_view(request: Request, tried: Sequence[Attempt], output: str | None) -> RenderableType:
    """The curve as text: the table, and below it why some tolerances have no model."""
    notes = [(_epsilon(one), text) for one in tried if (text := note(one))]
    place = [("written to", output)] if output is not None else []
    return Group(
        heading(title(request)),
        heading(f"error, size and time, errors in L^{number(request.p)}"),
        narrow_table(HEADS, [_cells(one) for one in tried]),
        *([facts(notes + place)] if notes + place else []),
    )


def _cells(one: Attempt) -> tuple[str, ...]:
    data = attempt_data(one)
    return (
        _epsilon(one),
        status(one),
        error(data["measured_error"]),
        one.method,
        axes(data["cells_per_axis"]),
        whole(data["layers"]),
        whole(data["parameters"]),
        seconds(one.build_seconds),
    )


def _epsilon(one: Attempt) -> str:
    return f"{one.request.tolerance:.4g}"
