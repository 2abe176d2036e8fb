"""The report of a comparison: tables, pictures, and all numbers with the whole configuration."""

import hashlib
import importlib.metadata
import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Group, RenderableType

from anyformer.atomic import write_text
from anyformer.reports.mixers import tables
from anyformer.reports.mixers.outcomes import DRAWS, TOGETHER, LearnedEntailment, LearnedWords, Outcomes, outcomes_of
from anyformer.reports.mixers.pictures import draw_curves, draw_entailment
from anyformer.reports.terminal import narrow_table, paragraph
from anyformer.training.comparison.experiment import Experiment
from anyformer.training.comparison.statistics import Comparison, Interval
from anyformer.training.tasks.pretrain import Prepared, unigram_loss

VERSIONS = ("torch", "transformers", "accelerate", "tokenizers", "numpy", "scikit-learn")


@dataclass(frozen=True)
class Report:
    """The comparison, as data and as text."""

    data: dict[str, Any]
    view: RenderableType


def write_report(experiment: Experiment) -> Report:
    """Gather all results into `report/`: tables.md, results.json, curves.png and entailment.png."""
    folder, outcomes = experiment.place / "report", outcomes_of(experiment)
    folder.mkdir(exist_ok=True)
    unigram = unigram_loss(experiment.text)
    data = {
        "configuration": configuration(experiment, outcomes),
        "unigram_loss": unigram,
        "words": {one.name: _words_data(one) for one in (*outcomes.words, *outcomes.ablations)},
        "words_compared": [_comparison_data(one) for one in outcomes.words_compared],
        "entailment": {one.name: _entailment_data(one, outcomes) for one in outcomes.entailment},
        "entailment_compared": [_comparison_data(one) for one in outcomes.entailment_compared],
        "compared_over": outcomes.over.value,
    }
    write_text(folder / "results.json", json.dumps(data, indent=1) + "\n")
    write_text(folder / "tables.md", tables_of(experiment, outcomes))
    recipe = experiment.budget.recipe
    everything = (*outcomes.words, *outcomes.ablations)
    draw_curves(everything, recipe.text.tokens * recipe.schedule.batch, unigram, folder / "curves.png")
    draw_entailment(outcomes.entailment, folder / "entailment.png")
    return Report(data, _view(outcomes, folder))


def tables_of(experiment: Experiment, outcomes: Outcomes) -> str:
    """All tables as Markdown, each with its title."""
    parts = {
        "Words": tables.words_rows(outcomes),
        "Words: differences in loss (nats)": tables.comparison_rows(outcomes.words_compared, 1.0, 3),
        "Entailment": tables.entailment_rows(outcomes),
        "Entailment: differences in accuracy (points)": tables.comparison_rows(outcomes.entailment_compared, 100.0, 1),
        "Learning rates: loss after a short trial": tables.rate_rows(experiment, outcomes),
        "The start of the weights (one seed)": tables.ablation_rows(outcomes),
    }
    return "\n".join(f"## {title}\n\n{tables.markdown(rows)}" for title, rows in parts.items() if len(rows) > 1)


def configuration(experiment: Experiment, outcomes: Outcomes) -> dict[str, Any]:
    """Everything that decides the numbers; recipes are those of the first seed, with the rates that were chosen."""
    budget, data = experiment.budget, experiment.entailment
    both = (*outcomes.words, *outcomes.ablations)
    tuning = {name: value for name, value in asdict(budget.tuning).items() if name != "learning_rate"}
    sides = {"train": data.train, "validation": data.validation, "test": data.test}
    return {
        "recipes": {one.name: one.results[0].recipe for one in both},
        "tokens_a_run": budget.recipe.schedule.steps * budget.recipe.schedule.batch * budget.recipe.text.tokens,
        "seeds": budget.seeds,
        "rates_tried": list(budget.rates),
        "trial_steps": budget.trial_steps,
        "tuning": {**tuning, "epochs": budget.epochs, "rates_tried": list(budget.tuning_rates)},
        "text": {**experiment.text.about(), **_names(experiment.text), "measured_tokens": len(experiment.measured)},
        "text_digests": {"trained": experiment.text.identity(), "measured": _digest(experiment.measured)},
        "entailment": {
            "labels": data.test.pairs.names,
            "pairs": {name: len(part) for name, part in sides.items()},
            "digests": {name: part.digest for name, part in sides.items()},
            "components": data.components,
            "largest_component": data.largest,
            "dropped": {"shared_text": data.dropped.shared, **data.dropped.near},
        },
        "bootstrap": {"draws": DRAWS, "windows_together": TOGETHER},
        "machine": {
            "processor": platform.machine(),
            "capability": torch.backends.cpu.get_cpu_capability(),
            "threads": torch.get_num_threads(),
            "python": platform.python_version(),
            "packages": {name: importlib.metadata.version(name) for name in VERSIONS},
        },
    }


def _names(text: Prepared) -> dict[str, str]:
    """Texts by name, not by path: a report goes elsewhere, where folders say nothing."""
    return {what: origin.corpus for what, origin in zip(("corpus", "held_out"), text.origins, strict=False)}


def _digest(tokens: NDArray[Any]) -> str:
    """The sha256 of token ids."""
    return hashlib.sha256(np.asarray(tokens, dtype="<u4").tobytes()).hexdigest()


def _words_data(one: LearnedWords) -> dict[str, Any]:
    return {
        "parameters": one.results[0].parameters,
        "learning_rate": one.results[0].rate,
        "rates": one.results[0].rates,
        "milliseconds_a_step": one.milliseconds,
        "loss": _interval_data(one.losses),
        "accuracy": _interval_data(one.accuracies),
        "losses": [result.scores.loss for result in one.results],
        "accuracies": [result.scores.accuracy for result in one.results],
        "words": one.results[0].scores.words,
        "curves": [[list(point) for point in result.curve] for result in one.results],
    }


def _entailment_data(one: LearnedEntailment, outcomes: Outcomes) -> dict[str, Any]:
    chosen = {source: np.asarray(outcomes.sources == source) for source in sorted(set(outcomes.sources.tolist()))}
    return {
        "what": one.what,
        "accuracy": _interval_data(one.accuracy()),
        "accuracies": one.right.mean(axis=1).tolist(),
        "by_source": {source: _interval_data(one.accuracy(places)) for source, places in chosen.items()},
        "setting": one.results[0].rate,
        "validation": [result.rates for result in one.results],
        "predictions": [result.digest for result in one.results],
    }


def _comparison_data(one: Comparison) -> dict[str, Any]:
    return {
        "first": one.first,
        "second": one.second,
        "difference": _interval_data(one.difference),
        "p": one.chance,
        "p_corrected": one.corrected,
        "verdict": one.verdict.value,
    }


def _interval_data(interval: Interval) -> dict[str, float | None]:
    """An end that is not known is null: JSON has no infinity."""
    ends = {"low": interval.low, "high": interval.high}
    return {"value": interval.value, **{name: end if np.isfinite(end) else None for name, end in ends.items()}}


def _view(outcomes: Outcomes, folder: Path) -> RenderableType:
    def narrow(rows: tables.Rows, columns: tuple[int, ...]) -> RenderableType:
        heads, *others = ([row[column] for column in columns] for row in rows)
        return narrow_table(heads, others)

    words, entailment = tables.words_rows(outcomes), tables.entailment_rows(outcomes)
    return Group(
        narrow(words, (0, 1, 3, 4, 5)),
        narrow(entailment, tuple(range(len(entailment[0]) - 1))),
        paragraph(f"written to {folder}"),
    )
