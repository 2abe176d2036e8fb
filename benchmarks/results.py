"""Where results are kept: one JSON file a benchmark, quick runs apart from full ones."""

import json
from enum import Enum
from pathlib import Path
from typing import Any

from benchmarks import machine

HERE = Path(__file__).parent


class Size(Enum):
    """How much is measured."""

    FULL = "full"
    QUICK = "quick"

    @property
    def folder(self) -> Path:
        """Quick results are for trying out, and never stand in the report."""
        return HERE / "results" if self is Size.FULL else HERE / "results" / "quick"

    @property
    def report(self) -> Path:
        """The rendered page."""
        return (HERE if self is Size.FULL else self.folder) / "RESULTS.md"

    @property
    def take_away_report(self) -> Path:
        """The page on models in other tools."""
        return (HERE.parent / "docs" / "results" if self is Size.FULL else self.folder) / "take_away.md"

    @property
    def compiled_report(self) -> Path:
        """The page on compiled networks."""
        return (HERE.parent / "docs" / "results" if self is Size.FULL else self.folder) / "compiled.md"

    @property
    def sparse_attention_report(self) -> Path:
        """The page on sparse attention."""
        return (HERE.parent / "docs" / "results" if self is Size.FULL else self.folder) / "sparse_attention.md"


def save(name: str, size: Size, numbers: dict[str, Any]) -> None:
    """Write one benchmark's numbers with the machine they were measured on."""
    size.folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"size": size.value, "machine": machine.describe(), **numbers}, indent=1, allow_nan=False)
    (size.folder / f"{name}.json").write_text(text + "\n")


def load(name: str, size: Size) -> dict[str, Any] | None:
    """Read one benchmark's numbers, if it was run."""
    path = size.folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None
