"""The committed comparison: its page, its numbers, its windows and its predictions say the same."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from anyformer.reports.mixers.outcomes import DRAWS, TOGETHER
from anyformer.reports.mixers.tables import SAID, comparison_rows, spread
from anyformer.training.comparison.results import TestResult as Said
from anyformer.training.comparison.results import WordsResult
from anyformer.training.comparison.statistics import Interval, Verdict, compare_all, mean_interval
from anyformer.training.evaluation.predicting import digest_of_answers

RESULTS = Path(__file__).parents[3] / "docs" / "results"
FOLDER = RESULTS / "mixers" / "results"
TOLD = json.loads((RESULTS / "mixers" / "results.json").read_text("utf-8"))
PAGE = (RESULTS / "mixers.md").read_text("utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")]


def on_the_page(*cells: str) -> bool:
    """Whether a row of a table starts with these cells."""
    return list(cells) in [row[: len(cells)] for row in ROWS]


def shown(told: dict[str, float], digits: int, scale: float = 1.0) -> str:
    return spread(Interval(told["value"], told["low"], told["high"]), digits, scale)


def test_a_wrong_number_is_not_on_the_page():
    assert on_the_page("attention", "1,157,120", "0.002")
    assert not on_the_page("attention", "1,157,120", "0.003")


@pytest.mark.parametrize("name", TOLD["words"])
def test_what_is_said_of_words_comes_from_the_windows(name):
    told = TOLD["words"][name]
    seeds = [WordsResult.load(file) for file in sorted(FOLDER.glob(f"words-{name}-[0-9].json"))]
    # Windows are kept with six decimals.
    assert told["losses"] == pytest.approx([one.scores.loss for one in seeds], abs=1e-6)
    assert told["accuracies"] == pytest.approx([one.scores.accuracy for one in seeds], abs=1e-6)
    assert {one.rate for one in seeds} == {told["learning_rate"]}
    assert on_the_page(name, *(f"{loss:.3f}" for loss in told["rates"].values()))


@pytest.mark.parametrize(
    ("file", "loss"), [("attention-at-0.001", "3.390 nats and 38.1 %"), ("attention-bert-start-at-0.0005", "5.98")]
)
def test_runs_with_other_rates_are_as_the_page_says(file, loss):
    run = WordsResult.load(FOLDER.parent / f"{file}.json")
    value, share = f"{run.scores.loss:.3f} nats", f"{100 * run.scores.accuracy:.1f} %"
    assert loss in (f"{value} and {share}", f"{run.scores.loss:.2f}")
    assert loss in PAGE
    assert file.endswith(f"-at-{run.rate:g}")


def test_both_starts_are_on_the_page():
    for name, start in (("attention", "neighbours"), ("attention-bert-start", "BERT's")):
        told = TOLD["words"][name]
        first = (f"{told['losses'][0]:.3f}", f"{100 * told['accuracies'][0]:.2f}")
        assert on_the_page("attention", start, f"{told['learning_rate']:g}", *first)


@pytest.mark.parametrize("name", [name for name, told in TOLD["words"].items() if len(told["losses"]) > 1])
def test_what_is_said_of_words_is_on_the_page(name):
    told = TOLD["words"][name]
    start = (name, f"{told['parameters']:,}", f"{told['learning_rate']:g}", f"{told['milliseconds_a_step']:.0f}")
    assert on_the_page(*start, shown(told["loss"], 3), shown(told["accuracy"], 2, 100.0))


@pytest.mark.parametrize("name", TOLD["entailment"])
def test_what_is_said_of_entailment_is_on_the_page(name):
    told, (system, _, without) = TOLD["entailment"][name], name.partition(", ")
    start = (system, "", "") if told["what"] == "baseline" else (system, "no" if without else "yes")
    rate = () if told["what"] == "baseline" else (f"{told['setting']:g}",)
    values = (told["accuracy"], *told["by_source"].values())
    assert on_the_page(*start, *rate, *(shown(one, 1, 100.0) for one in values))


@pytest.mark.parametrize(("what", "scale", "digits"), [("words", 1.0, 3), ("entailment", 100.0, 1)])
def test_every_difference_is_on_the_page(what, scale, digits):
    for one in TOLD[f"{what}_compared"]:
        value, low, high = (f"{scale * one['difference'][end]:+.{digits}f}" for end in ("value", "low", "high"))
        verdict = SAID[Verdict(one["verdict"])]
        assert on_the_page(one["first"], one["second"], value, f"{low} to {high}", verdict)


def test_every_prediction_has_its_digest_and_is_of_the_one_test_set():
    said = [Said.load(file) for file in sorted(FOLDER.glob("*.json")) if not file.name.startswith("words-")]
    entailment = TOLD["configuration"]["entailment"]
    assert {len(one.predicted) for one in said} == {entailment["pairs"]["test"]}
    assert {label for one in said for label in one.predicted} == set(entailment["labels"])
    assert [one.digest for one in said] == [digest_of_answers(one.predicted) for one in said]
    told = chain.from_iterable(system["predictions"] for system in TOLD["entailment"].values())
    assert sorted(one.digest for one in said) == sorted(told)


def test_the_text_that_nobody_had_looked_at_gives_what_the_page_says():
    names = ("bilinear", "convolution", "attention", "hybrid-1")
    told = {
        name: [json.loads((FOLDER.parent / "unseen" / f"{name}-{seed}.json").read_text()) for seed in range(3)]
        for name in names
    }
    assert len({one["corpus_digest"] for many in told.values() for one in many}) == 1
    assert len({one["weights"] for many in told.values() for one in many}) == 12
    windows = {name: np.array([one["windows"]["losses"] for one in many]) for name, many in told.items()}
    for name, many in told.items():
        losses, shares = ([one[what] for one in many] for what in ("loss", "accuracy"))
        # Windows are kept with six decimals.
        assert windows[name].mean(axis=1) == pytest.approx(losses, abs=1e-6)
        assert on_the_page(name, spread(mean_interval(losses), 3), spread(mean_interval(shares), 2, 100.0))
    (count,) = {one.shape[1] for one in windows.values()}
    assert f"{told['attention'][0]['words']:,} masked\nwords, {count:,} windows" in PAGE
    groups = [place // TOGETHER for place in range(count)]
    for row in comparison_rows(compare_all(windows, groups=groups, draws=DRAWS), 1.0, 3)[1:]:
        assert on_the_page(*row)


@pytest.mark.parametrize("file", ["attention-at-0.001-0", "attention-bert-start-0"])
def test_other_rates_and_starts_on_that_text_are_as_the_page_says(file):
    told = json.loads((FOLDER.parent / "unseen" / f"{file}.json").read_text())
    assert f"{told['loss']:.3f}" in PAGE
