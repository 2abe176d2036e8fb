"""The report of the copying task: results.json, and what is made from it."""

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType

from anyformer.atomic import write_text
from anyformer.reports.copying.outcomes import Copied, by_name, copied
from anyformer.reports.copying.pictures import draw_capacity, draw_depths
from anyformer.reports.copying.tables import detail_table, markdown_table, row_of
from anyformer.reports.terminal import narrow_table, paragraph
from anyformer.training.copying.budgets import Budget
from anyformer.training.copying.runs import EXPERIMENT
from anyformer.training.copying.task import Alphabet


@dataclass(frozen=True)
class Report:
    """The comparison, as data and as text."""

    data: dict[str, Any]
    view: RenderableType


def write_report(budget: Budget, place: Path) -> Report:
    """Gather all runs into `place/report`: results.json, and from it the tables and the pictures."""
    import torch

    folder = place / "report"
    folder.mkdir(exist_ok=True)
    data = {
        "experiment": EXPERIMENT,
        "budget": {**budget.to_json(), "seeds": budget.seeds},
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "outcomes": [asdict(one) for one in copied(budget, place)],
    }
    write_text(folder / "results.json", json.dumps(data, indent=1) + "\n")
    made = show_results(data, folder)
    rows = [row_of(rows, budget.depths)[:-1] for rows in by_name(made).values()]
    heads = ("pattern", "links\n(%)", *(f"{depth} layer{'s' * (depth > 1)}" for depth in budget.depths))
    return Report(data, Group(narrow_table(heads, rows), paragraph(f"symbols copied, in %; written to {folder}")))


def show_results(data: Mapping[str, Any], folder: Path) -> list[Copied]:
    """The tables and pictures of what results.json holds."""
    made = [Copied(**{name: frozen(value) for name, value in outcome.items()}) for outcome in data["outcomes"]]
    alphabet = Alphabet(**data["budget"]["alphabet"])
    write_text(folder / "table.md", markdown_table(made))
    write_text(folder / "details.md", detail_table(made, alphabet.symbols))
    draw_depths(made, folder / "depths.png")
    draw_capacity(made, alphabet.symbols, alphabet.length, folder / "capacity.png")
    return made


def frozen(value: Any) -> Any:
    """What a file has as lists, as tuples."""
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value
