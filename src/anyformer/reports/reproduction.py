"""The comparison of token mixers as data, as a table beside the paper's, and as pictures."""

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType

from anyformer.atomic import write_text
from anyformer.pictures import (
    AMBER,
    BLUE,
    GREEN,
    LOOKS,
    ORANGE,
    PALE,
    SMALL,
    in_house_style,
    new_figure,
    plain,
    save_picture,
    show_grid,
)
from anyformer.reports.terminal import narrow_table, paragraph
from anyformer.training.reproduction import Budget, Materials, Trial, entrants, recipe_of, trials_of
from anyformer.training.run.folder import RunFolder
from anyformer.training.tasks.pretrain import Prepared
from anyformer.training.tasks.step_times import step_times

PAPER = {
    "average": ("88.3M", 28.0, 66.0),
    "bilinear": ("90M", 59.0, 72.3),
    "convolution": ("102.5M", 60.0, 73.0),
    "attention": ("110M", 63.0, 78.2),
}
"""Paper A: parameters, masked-LM accuracy and MNLI accuracy in percent, at BERT_BASE."""

# Hybrids share a colour that darkens with the number of convolutions.
COLOURS = {"average": AMBER, "bilinear": GREEN, "convolution": ORANGE, "attention": BLUE}
HYBRIDS = ("#CC79A7", "#A05195", "#6A3D9A", "#3F1D6B")


HEADS = (
    *("mixer", "parameters", "ms a step", "words: loss", "accuracy (%)", "entailment (%)"),
    *("paper: parameters", "words (%)", "MNLI (%)"),
)

NARROW = (
    *("mixer", "para-\nmeters", "ms a\nstep", "words:\nloss", "accuracy\n(%)", "paper", "entailment\n(%)"),
    "paper",
)


@dataclass(frozen=True)
class Outcome:
    """The results of an entrant over its seeds."""

    name: str
    parameters: int
    milliseconds: float
    words: tuple[float, ...]
    losses: tuple[float, ...]
    entailment: tuple[float, ...]
    curves: tuple[tuple[tuple[int, float], ...], ...]
    """For each seed: tokens seen and validation loss."""


def outcomes(trials: Sequence[Trial], tokens_a_step: int, milliseconds: dict[str, float]) -> list[Outcome]:
    """Complete trials, gathered by entrant; those of an entrant are in the order of their seeds."""
    names = list(dict.fromkeys(trial.entrant.name for trial in trials))
    grouped = {name: [trial for trial in trials if trial.entrant.name == name] for name in names}
    return [
        Outcome(
            name,
            _parameters(mine[0].pretraining),
            milliseconds.get(name, math.nan),
            tuple(_last(trial.pretraining, "validation_accuracy") for trial in mine),
            tuple(_last(trial.pretraining, "validation_loss") for trial in mine),
            tuple(_last(trial.tuning, "accuracy") for trial in mine),
            tuple(_curve(trial.pretraining, tokens_a_step) for trial in mine),
        )
        for name, mine in grouped.items()
    ]


def _last(folder: RunFolder, name: str) -> float:
    return float([row[name] for row in folder.rows() if name in row][-1])


def _curve(folder: RunFolder, tokens_a_step: int) -> tuple[tuple[int, float], ...]:
    rows = [row for row in folder.rows() if "validation_loss" in row]
    return tuple((row["step"] * tokens_a_step, row["validation_loss"]) for row in rows)


def _parameters(folder: RunFolder) -> int:
    """The number of weights in a model's file."""
    from safetensors import safe_open

    with safe_open(folder.model / "model.safetensors", "numpy") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118


def markdown_table(made: Sequence[Outcome]) -> str:
    """Markdown: what was measured, with the standard error over seeds, beside what the paper has."""
    lines = [HEADS, ("---",) * len(HEADS), *(_row(outcome) for outcome in made)]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def _row(outcome: Outcome) -> tuple[str, ...]:
    paper = PAPER.get(outcome.name)
    return (
        outcome.name,
        f"{outcome.parameters:,}",
        f"{outcome.milliseconds:.0f}",
        mean_and_range(outcome.losses, "{:.3f}"),
        mean_and_range([100 * value for value in outcome.words], "{:.1f}"),
        mean_and_range([100 * value for value in outcome.entailment], "{:.1f}"),
        *((paper[0], f"{paper[1]:g}", f"{paper[2]:g}") if paper else ("", "", "")),
    )


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


@in_house_style
def draw_curves(made: Sequence[Outcome], unigram: float, place: Path) -> Path:
    """Validation loss by tokens seen, a line a seed, and the loss of a model that knows only word frequencies."""
    figure = new_figure(3.8)
    panel = figure.subplots()
    for number, outcome in enumerate(made):
        look = {"color": _colour(outcome.name), "marker": LOOKS[number % len(LOOKS)].marker, "linewidth": 1.1}
        for seed, curve in enumerate(outcome.curves):
            label = plain(outcome.name) if seed == 0 else None
            panel.plot(*zip(*curve, strict=True), **look, markevery=max(1, len(curve) // 6), label=label)
    panel.axhline(unigram, color=PALE, linewidth=1, linestyle=":")
    where = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom", "fontsize": SMALL}
    panel.annotate("word frequencies alone", (0.99, unigram), **where)
    lowest = min(loss for outcome in made for curve in outcome.curves for _, loss in curve)
    panel.set(xlabel="tokens seen", ylabel="validation loss (nats a masked word)", ylim=(lowest - 0.1, unigram + 0.4))
    show_grid(panel)
    panel.legend()
    described = "Validation loss against the number of tokens seen, a line for each mixer and seed."
    return save_picture(figure, place, title="Pre-training with different token mixers", description=described)


@in_house_style
def draw_hybrids(made: Sequence[Outcome], place: Path) -> Path:
    """Accuracies by how many of the layers, counted from the input, are convolutions."""
    stack = [one for one in made if one.name == "attention" or one.name.startswith("hybrid-")]
    ordered = [*stack, *(one for one in made if one.name == "convolution")]
    figure = new_figure(2.8)
    words, entailment = figure.subplots(1, 2)
    _draw_bars(words, ordered, lambda one: one.words, "masked words, accuracy (%)")
    _draw_bars(entailment, ordered, lambda one: one.entailment, "entailment, accuracy (%)")
    described = "Accuracy on masked words and on entailment against the number of convolution layers."
    return save_picture(figure, place, title="Hybrids of convolution and attention", description=described)


def _draw_bars(panel: Any, ordered: Sequence[Outcome], of: Callable[[Outcome], Sequence[float]], label: str) -> None:
    means = [100 * statistics.fmean(of(one)) for one in ordered]
    errors = [100 * standard_error(of(one)) for one in ordered]
    panel.errorbar(range(len(ordered)), means, yerr=errors, marker="o", color=BLUE, capsize=3)
    show_grid(panel)
    panel.set(xlabel="convolution layers, from the input", ylabel=label, xticks=range(len(ordered)))


def _colour(name: str) -> str:
    if name in COLOURS:
        return COLOURS[name]
    return HYBRIDS[(int(name.removeprefix("hybrid-")) - 1) % len(HYBRIDS)]


@dataclass(frozen=True)
class Report:
    """The comparison, as data and as text."""

    data: dict[str, Any]
    view: RenderableType


def write_report(budget: Budget, materials: Materials, place: Path) -> Report:
    """Gather all runs into `place/report`: table.md, results.json, curves and hybrids as pictures."""
    folder = place / "report"
    folder.mkdir(exist_ok=True)
    tokens = budget.recipe.text.tokens * budget.recipe.schedule.batch
    compared = entrants(budget.recipe.architecture, budget.kernel)
    times = step_times({one.name: recipe_of(budget, one, seed=0) for one in compared}, materials.text)
    made = outcomes(trials_of(budget, place), tokens, times)
    unigram = unigram_loss(materials.text)
    data = {
        "budget": {**budget.recipe.to_json(), "seeds": budget.seeds, "epochs": budget.epochs},
        "text": [asdict(origin) for origin in materials.text.origins],
        "pairs": {
            "training": len(materials.training),
            "held_out": len(materials.held_out),
            "labels": materials.training.names,
        },
        "unigram_loss": unigram,
        "outcomes": [asdict(outcome) for outcome in made],
    }
    write_text(folder / "table.md", markdown_table(made))
    write_text(folder / "results.json", json.dumps(data, indent=1) + "\n")
    draw_curves(made, unigram, folder / "curves.png")
    draw_hybrids(made, folder / "hybrids.png")
    rows = [(row[0], row[1], row[2], row[3], row[4], row[7], row[5], row[8]) for row in map(_row, made)]
    return Report(data, Group(narrow_table(NARROW, rows), paragraph(f"written to {folder}")))


def unigram_loss(text: Prepared) -> float:
    """The loss of a model that knows only how frequent each word is: the plateau that training has to leave."""
    special = list(text.tokenizer.all_special_ids)
    seen = np.bincount(text.train, minlength=len(text.tokenizer)) + 1.0
    seen[special] = 0.0
    words = np.asarray(text.valid)[~np.isin(text.valid, special)]
    return float(-np.log(seen[words] / seen.sum()).mean())
