"""The ready-made targets, as data and as a table."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import RenderableType

from anyformer.reports.terminal import number, table
from anyformer.targets.catalogue import CATALOGUE, descriptions, ready_made
from anyformer.targets.target import Symmetry


@dataclass(frozen=True)
class TargetEntry:
    """A ready-made target on two tokens of width 1."""

    name: str
    symmetry: str
    lipschitz: float
    parameters: dict[str, float | int]
    """What --set takes, with defaults."""
    description: str


def settable(name: str) -> dict[str, float | int]:
    """The parameters of a ready-made target that are plain numbers, with their defaults.

    >>> settable("softmax")
    {'sharpness': 3.0}
    """
    taken = CATALOGUE.parameters(name)
    return {key: default for key, default in taken.items() if isinstance(default, int | float)}


def target_entries() -> list[TargetEntry]:
    """Every ready-made target."""
    return [_entry(name, description) for name, description in descriptions().items()]


def _entry(name: str, description: str) -> TargetEntry:
    made = ready_made(name, tokens=2, width=1)
    assert made.modulus is not None
    constant = float(made.modulus.largest_deviation(np.ones((2, 1))).max())
    symmetry = "equivariant" if made.symmetry is Symmetry.EQUIVARIANT else "positional"
    return TargetEntry(name, symmetry, constant, settable(name), description)


def targets_data(entries: list[TargetEntry]) -> dict[str, Any]:
    """The targets as a JSON object."""
    return {"targets": [asdict(entry) for entry in entries]}


def targets_view(entries: list[TargetEntry]) -> RenderableType:
    """The targets as a table, with which of them depend on the order of tokens."""
    rows = [
        (entry.name, entry.symmetry, number(entry.lipschitz), _settings(entry.parameters), entry.description)
        for entry in entries
    ]
    columns = ("target", "symmetry", "L", "--set", "what it is")
    return table(columns, rows, wrapping=("what it is",), right=("L",))


def _settings(parameters: dict[str, float | int]) -> str:
    return " ".join(f"{name}={number(value)}" for name, value in parameters.items())
