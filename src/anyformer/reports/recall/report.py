"""The report of associative recall: results.json, and what is made from it."""

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType

from anyformer.atomic import write_text
from anyformer.reports.recall.outcomes import Recalled, recalled
from anyformer.reports.recall.pictures import draw_shares
from anyformer.reports.recall.tables import QUESTIONS, markdown_table, percent
from anyformer.reports.terminal import narrow_table, paragraph
from anyformer.training.recall.budgets import Budget, described
from anyformer.training.recall.guessing import best_rule, by_chance, without_matching
from anyformer.training.recall.runs import EXPERIMENT
from anyformer.training.recall.task import Question, Recall


@dataclass(frozen=True)
class Report:
    """The comparison, as data and as text."""

    data: dict[str, Any]
    view: RenderableType


def write_report(budget: Budget, place: Path) -> Report:
    """Gather all runs into `place/report`: results.json, and from it the tables and the picture."""
    import torch

    folder = place / "report"
    folder.mkdir(exist_ok=True)
    data = {
        "experiment": EXPERIMENT,
        "budget": {**budget.to_json(), "seeds": budget.seeds},
        "entrants": {entrant.name: described(entrant) for entrant in budget.entrants},
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "guessing": guessing(budget),
        "outcomes": [asdict(one) for one in recalled(budget, place)],
    }
    write_text(folder / "results.json", json.dumps(data, indent=1) + "\n")
    made = show_results(data, folder)
    views = [
        narrow_table(
            (QUESTIONS[question.value], *(f"{pairs} pairs" for pairs in budget.pairs)),
            [(one.name, *map(percent, one.shares)) for one in made if one.question == question.value],
        )
        for question in Question
    ]
    return Report(data, Group(*views, paragraph(f"queries answered, in %; written to {folder}")))


def guessing(budget: Budget) -> dict[str, Any]:
    """What is reached without mixing: by chance, without comparing keys, and by the best of all simple rules."""
    task = Recall(budget.layout, budget.pairs, Question.CONTENT, 1, 1, 0)
    rules = {pairs: best_rule(budget.layout, task.sequences(pairs, budget.judged, "test")) for pairs in budget.pairs}
    return {
        "chance": by_chance(budget.layout),
        "without_matching": {str(pairs): without_matching(pairs) for pairs in budget.pairs},
        "best_rule": {str(pairs): {"rule": rule, "share": share} for pairs, (rule, share) in rules.items()},
    }


def show_results(data: Mapping[str, Any], folder: Path) -> list[Recalled]:
    """The tables and the picture of what results.json holds."""
    made = [Recalled(**{name: _frozen(value) for name, value in outcome.items()}) for outcome in data["outcomes"]]
    for question in QUESTIONS:
        write_text(folder / f"{question}.md", markdown_table(made, question, data["budget"]["judged"]))
    draw_shares(made, data["guessing"]["chance"], folder / "recall.png")
    return made


def _frozen(value: Any) -> Any:
    """What a file has as lists, as tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value
