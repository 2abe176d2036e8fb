"""The comparison of mixers as Markdown tables."""

import math
from collections.abc import Sequence

import numpy as np

from anyformer.reports.mixers.outcomes import BASELINE, PRETRAINED, UNTRAINED, LearnedEntailment, LearnedWords, Outcomes
from anyformer.training.comparison.experiment import Experiment
from anyformer.training.comparison.statistics import Comparison, Interval, Verdict

PAPER = {
    "average": ("88.3M", "28.0", "66.0"),
    "bilinear": ("90M", "59.0", "72.3"),
    "convolution": ("102.5M", "60.0", "73.0"),
    "attention": ("110M", "63.0", "78.2"),
}
"""Paper A: parameters, masked-LM accuracy and MNLI accuracy in percent, at BERT_BASE."""
SAID = {
    Verdict.ABOVE: "first is above",
    Verdict.BELOW: "first is below",
    Verdict.ABOVE_ALONE: "first is above, uncorrected",
    Verdict.BELOW_ALONE: "first is below, uncorrected",
    Verdict.UNDECIDED: "undecided",
}
IS_PRETRAINED = {PRETRAINED: "yes", UNTRAINED: "no", BASELINE: ""}
Rows = list[tuple[str, ...]]


def words_rows(outcomes: Outcomes) -> Rows:
    """Pre-training: what each entrant says of all held-out words."""
    heads = (
        *("mixer", "parameters", "learning rate", "ms a step", "loss (nats)", "accuracy (%)"),
        *("paper: parameters", "paper: accuracy (%)"),
    )
    return [heads, *(_words_row(one) for one in outcomes.words)]


def _words_row(one: LearnedWords) -> tuple[str, ...]:
    paper = PAPER.get(one.name, ("", "", ""))
    return (
        *(one.name, f"{one.results[0].parameters:,}", f"{one.results[0].rate:g}", f"{one.milliseconds:.0f}"),
        *(spread(one.losses, 3), spread(one.accuracies, 2, 100.0)),
        *paper[:2],
    )


def ablation_rows(outcomes: Outcomes) -> Rows:
    """The same for weights that start as BERT's do, beside the usual start; both of the first seed."""
    heads = ("mixer", "start", "learning rate", "loss (nats)", "accuracy (%)")
    rows: Rows = [heads]
    for one in outcomes.ablations:
        usual = next(other for other in outcomes.words if other.entrant.mixers == one.entrant.mixers)
        for start, result in (("neighbours", usual.results[0]), ("BERT's", one.results[0])):
            share = f"{100 * result.scores.accuracy:.2f}"
            rows.append((usual.name, start, f"{result.rate:g}", f"{result.scores.loss:.3f}", share))
    return rows


def entailment_rows(outcomes: Outcomes) -> Rows:
    """Accuracies on the test set, in all and for each source."""
    sources = sorted(set(outcomes.sources.tolist()))
    heads = (
        "system",
        "pre-trained",
        "learning rate",
        "accuracy (%)",
        *(f"{one.upper()} (%)" for one in sources),
        "paper: MNLI",
    )
    return [heads, *(_entailment_row(one, sources, outcomes) for one in outcomes.entailment)]


def _entailment_row(one: LearnedEntailment, sources: Sequence[str], outcomes: Outcomes) -> tuple[str, ...]:
    shares = [spread(one.accuracy(np.asarray(outcomes.sources == source)), 1, 100.0) for source in sources]
    rate = "" if one.what == BASELINE else f"{one.results[0].rate:g}"
    paper = PAPER.get(one.system, ("", "", ""))[2] if one.what == PRETRAINED else ""
    return one.system, IS_PRETRAINED[one.what], rate, spread(one.accuracy(), 1, 100.0), *shares, paper


def comparison_rows(compared: Sequence[Comparison], scale: float, digits: int) -> Rows:
    """Differences with their intervals, and what can be said."""
    heads = ("first", "second", "first − second", "95 % interval", "verdict")
    return [heads, *(_comparison_row(one, scale, digits) for one in compared)]


def _comparison_row(one: Comparison, scale: float, digits: int) -> tuple[str, ...]:
    value, low, high = (scale * end for end in (one.difference.value, one.difference.low, one.difference.high))
    ends = f"{low:+.{digits}f} to {high:+.{digits}f}" if math.isfinite(low) else "unknown"
    return one.first, one.second, f"{value:+.{digits}f}", ends, SAID[one.verdict]


def rate_rows(experiment: Experiment, outcomes: Outcomes) -> Rows:
    """The loss after the trial of each learning rate."""
    rates = [f"{rate:g}" for rate in experiment.budget.rates]
    rows: Rows = [("mixer", *rates)]
    for one in (*outcomes.words, *outcomes.ablations):
        tried = one.results[0].rates
        rows.append((one.name, *(f"{tried[rate]:.3f}" if rate in tried else "" for rate in rates)))
    return rows


def spread(interval: Interval, digits: int, scale: float = 1.0) -> str:
    """A value and half the width of its interval; the value alone where the interval is unknown.

    >>> spread(Interval(0.5, 0.4, 0.6), 1, 100.0), spread(Interval(0.5, -math.inf, math.inf), 1, 100.0)
    ('50.0 ± 10.0', '50.0')
    """
    shown = f"{scale * interval.value:.{digits}f}"
    half = scale * (interval.high - interval.low) / 2
    return f"{shown} ± {half:.{digits}f}" if math.isfinite(half) else shown


def markdown(rows: Rows) -> str:
    """A table whose first row has the heads."""
    heads, *others = rows
    lines = [heads, ("---",) * len(heads), *others]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)
