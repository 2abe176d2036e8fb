"""What was recalled, gathered by question and mixer, and the verdict that the numbers allow."""

import enum
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import t as student

from anyformer.training.recall.budgets import Budget, described
from anyformer.training.recall.guessing import without_matching
from anyformer.training.recall.runs import FIRST, chosen, trial_of
from anyformer.training.recall.task import Question

LEVEL = 0.95
"""Of the intervals."""
ALL = 0.99
"""The share of queries from which on a seed counts as solved."""
DEVIATIONS = 3.0
"""How far above the line, in standard deviations of the sample, a seed counts as above it."""


class Verdict(enum.Enum):
    """What the seeds that were run show for a number of pairs; of one seed, nothing about others."""

    SOLVED = "solved"
    ABOVE = "above the line, not solved"
    MIXED = "undecided: seeds differ too much"
    NOT = "not above the line"


@dataclass(frozen=True)
class Recalled:
    """A mixer and a question: the shares of queries answered, on sequences by which nothing was chosen."""

    name: str
    mixers: tuple[dict[str, object], ...]
    question: str
    rate: float
    """The learning rate chosen for it on validation."""
    validation: dict[str, float]
    """Of the first seed, by learning rate: the mean over numbers of pairs, by which it was chosen."""
    parameters: int
    pairs: tuple[int, ...]
    shares: tuple[tuple[float, ...], ...]
    """Of each number of pairs, for each seed."""
    steps: tuple[int, ...]
    seconds: tuple[float, ...]


def recalled(budget: Budget, place: Path) -> list[Recalled]:
    """All mixers whose rate is chosen, with as many seeds as are complete."""
    gathered = []
    for question in Question:
        for entrant in budget.entrants:
            best = chosen(budget, place, entrant, question)
            if best is None:
                continue
            trials = [trial_of(place, entrant, question, best.rate, FIRST + seed) for seed in range(budget.seeds)]
            done = [outcome for trial in trials if (outcome := trial.outcome) is not None]
            tried = {rate: trial_of(place, entrant, question, rate, FIRST).outcome for rate in budget.rates}
            gathered.append(
                Recalled(
                    name=entrant.name,
                    mixers=tuple(described(entrant)),
                    question=question.value,
                    rate=best.rate,
                    validation={f"{rate:g}": statistics.fmean(one.validation) for rate, one in tried.items() if one},
                    parameters=done[0].parameters,
                    pairs=budget.pairs,
                    shares=tuple(zip(*(one.test for one in done), strict=True)),
                    steps=tuple(one.steps for one in done),
                    seconds=tuple(one.seconds for one in done),
                )
            )
    return gathered


def interval(shares: Sequence[float]) -> float:
    """How far the mean over seeds may be off, either way, at 95 %: Student's factor times the standard error.

    The factor for few seeds is large, 4.30 for three. A single seed says nothing about others: NaN.

    >>> round(interval([0.5, 0.6, 0.7]), 3)
    0.248
    """
    if len(shares) < 2:
        return math.nan
    factor = float(student.ppf((1 + LEVEL) / 2, len(shares) - 1))
    return factor * statistics.stdev(shares) / math.sqrt(len(shares))


def verdict(shares: Sequence[float], pairs: int, judged: int) -> Verdict:
    """What the seeds show, each measured on the queries of so many sequences with so many pairs.

    "Not above" needs all seeds within the error of the sample above the line 1/pairs; "above" needs the interval of the
    mean above it. What is neither is undecided.
    """
    line = without_matching(pairs)
    if all(share >= ALL for share in shares):
        return Verdict.SOLVED
    # Queries of a sequence are not independent, so a sequence counts once.
    error = DEVIATIONS * math.sqrt(line * (1 - line) / judged)
    if all(share <= line + error for share in shares):
        return Verdict.NOT
    above = statistics.fmean(shares) - interval(shares) > line
    return Verdict.ABOVE if above else Verdict.MIXED
