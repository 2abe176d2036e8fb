"""A training run as data and as text."""

from typing import Any

from rich.console import Group, RenderableType

from anyformer.reports.terminal import count, duration, facts, heading, rounded
from anyformer.training.run.folder import RunFolder


def run_data(folder: RunFolder) -> dict[str, Any]:
    """The result of a run as a JSON object: the last value of everything that was measured."""
    measured: dict[str, Any] = {}
    for row in folder.rows():
        measured.update(row)
    measured.setdefault("step", 0)
    return {"output": str(folder.place), "model": str(folder.model), "complete": folder.is_complete, **measured}


def run_view(folder: RunFolder) -> RenderableType:
    """The same as text."""
    data = run_data(folder)
    measured = {name: data[name] for name in data if isinstance(data[name], float) and name != "seconds"}
    rows = [
        ("steps", count(data["step"])),
        *([("time", duration(data["seconds"]))] if "seconds" in data else []),
        *((name.replace("_", " "), rounded(value, 4)) for name, value in measured.items() if name != "learning_rate"),
        ("model", data["model"]),
        ("curves", f"{folder.metrics}, and tensorboard --logdir {folder.place / 'tensorboard'}"),
    ]
    return Group(heading("trained"), facts(rows))
