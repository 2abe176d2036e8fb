"""Masked words with sparse attention as data, as a table, and as a picture: loss against links, and against time."""

import json
import math
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType

from anyformer.atomic import write_text
from anyformer.pictures import LOOKS, PALE, SMALL, in_house_style, new_figure, plain, save_picture, show_grid
from anyformer.reports.copying.report import frozen
from anyformer.reports.terminal import narrow_table, paragraph
from anyformer.training.copying.carrying import share_of_links
from anyformer.training.run.folder import RunFolder
from anyformer.training.sparse_lm import ENTRANTS, EXPERIMENT, Budget, recipe_of, trials_of
from anyformer.training.tasks.pretrain import Prepared, unigram_loss
from anyformer.training.tasks.step_times import step_times

HEADS = ("pattern", "links (%)", "ms a step", "words: loss", "accuracy (%)")


@dataclass(frozen=True)
class Learned:
    """A pattern: how many links it has, how long a step takes, and what the models of all seeds have learned."""

    name: str
    links: float
    """The share of all pairs of tokens that a head sees, a mean over layers and heads."""
    milliseconds: float
    losses: tuple[float, ...]
    accuracies: tuple[float, ...]
    curves: tuple[tuple[tuple[int, float], ...], ...]
    """For each seed: steps and validation loss."""


def learned(budget: Budget, place: Path, milliseconds: Mapping[str, float]) -> list[Learned]:
    """All complete runs of a folder, gathered by pattern."""
    tokens, layers = budget.recipe.text.tokens, budget.recipe.architecture.layers
    folders: dict[str, list[RunFolder]] = {}
    for trial in trials_of(budget, place):
        if trial.folder.is_complete:
            folders.setdefault(trial.entrant.name, []).append(trial.folder)
    families = {entrant.name: entrant.family for entrant in ENTRANTS}
    made = []
    for name, mine in folders.items():
        curves = [[row for row in folder.rows() if "validation_loss" in row] for folder in mine]
        made.append(
            Learned(
                name,
                share_of_links(families[name].at(tokens), layers),
                milliseconds[name],
                tuple(rows[-1]["validation_loss"] for rows in curves),
                tuple(rows[-1]["validation_accuracy"] for rows in curves),
                tuple(tuple((row["step"], row["validation_loss"]) for row in rows) for rows in curves),
            )
        )
    return made


def markdown_table(made: Sequence[Learned]) -> str:
    """Markdown: links, time and loss of each pattern, with the standard error over seeds."""
    lines = [HEADS, ("---",) * len(HEADS), *map(_row, made)]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def _row(one: Learned) -> tuple[str, ...]:
    return (
        one.name,
        f"{100 * one.links:.1f}",
        f"{one.milliseconds:.0f}",
        mean_and_range(one.losses, "{:.3f}"),
        mean_and_range([100 * value for value in one.accuracies], "{:.1f}"),
    )


@in_house_style
def draw_losses(made: Sequence[Learned], unigram: float, place: Path) -> Path:
    """Validation loss against the share of links, and against the time of a step; a point for each seed."""
    figure = new_figure(3.4)
    by_links, by_time = figure.subplots(1, 2, sharey=True)
    for number, one in enumerate(made):
        look = LOOKS[number % len(LOOKS)]
        style = {"color": look.colour, "marker": look.marker, "linestyle": "", "fillstyle": _fill(number)}
        by_links.plot([100 * one.links] * len(one.losses), one.losses, **style, label=plain(one.name))
        by_time.plot([one.milliseconds] * len(one.losses), one.losses, **style)
    by_links.set(xlabel="links (% of all pairs)", ylabel="validation loss (nats a masked word)", xscale="log")
    by_time.set(xlabel="ms a step")
    highest = max(loss for one in made for loss in one.losses)
    for panel in (by_links, by_time):
        show_grid(panel)
        if highest > unigram - 0.5:  # otherwise the line would squeeze the points together
            panel.axhline(unigram, color=PALE, linewidth=1, linestyle=":")
            where = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom", "fontsize": SMALL}
            panel.annotate("word frequencies alone", (0.99, unigram), **where)
    figure.legend(*by_links.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    described = "Validation loss against the share of links of each pattern, and against the time of a training step."
    return save_picture(figure, place, title="Masked words with sparse attention", description=described)


def _fill(number: int) -> str:
    """Hollow markers once all looks are used."""
    return "full" if number < len(LOOKS) else "none"


@dataclass(frozen=True)
class Report:
    """The comparison, as data and as text."""

    data: dict[str, Any]
    view: RenderableType


def write_report(budget: Budget, text: Prepared, place: Path) -> Report:
    """Gather all runs into `place/report`: results.json, and from it the table and the picture."""
    import torch

    folder = place / "report"
    folder.mkdir(exist_ok=True)
    recipes = {entrant.name: recipe_of(budget, entrant) for entrant in ENTRANTS}
    data = {
        "experiment": EXPERIMENT,
        "recipes": {name: recipe.to_json() for name, recipe in recipes.items()},
        "seeds": budget.seeds,
        "text": [asdict(origin) for origin in text.origins],
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "unigram_loss": unigram_loss(text),
        "outcomes": [asdict(one) for one in learned(budget, place, step_times(recipes, text))],
    }
    write_text(folder / "results.json", json.dumps(data, indent=1) + "\n")
    made = show_results(data, folder)
    heads = tuple(head.replace(" ", "\n", 1) for head in HEADS)
    return Report(data, Group(narrow_table(heads, map(_row, made)), paragraph(f"written to {folder}")))


def show_results(data: Mapping[str, Any], folder: Path) -> list[Learned]:
    """The table and the picture of what results.json holds."""
    made = [Learned(**{name: frozen(value) for name, value in outcome.items()}) for outcome in data["outcomes"]]
    write_text(folder / "table.md", markdown_table(made))
    draw_losses(made, data["unigram_loss"], folder / "losses.png")
    return made


def mean_and_range(values: Sequence[float], form: str) -> str:
    """The mean and its standard error over seeds.

    >>> mean_and_range([1.0, 3.0], "{:.1f}")
    '2.0 ± 1.0'
    """
    mean = form.format(statistics.fmean(values))
    return mean if len(values) < 2 else f"{mean} ± {form.format(standard_error(values))}"


def standard_error(values: Sequence[float]) -> float:
    """The standard error of the mean; for one value it is NaN, and no bar is drawn."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
