"""What a comparison of mixers came to, gathered from its results: scores of all seeds, intervals, and comparisons."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from anyformer.training.comparison.baselines import BASELINES
from anyformer.training.comparison.entrants import Entrant
from anyformer.training.comparison.experiment import Experiment
from anyformer.training.comparison.learning_entailment import FIRST, BaselineTest, Test, learners_of
from anyformer.training.comparison.learning_words import Words
from anyformer.training.comparison.results import TestResult, WordsResult
from anyformer.training.comparison.statistics import Comparison, Interval, Over, compare_all, mean_interval, wilson
from anyformer.training.tasks.step_times import step_times

DRAWS = 10_000
"""Of every bootstrap."""
TOGETHER = 8
"""Neighbouring windows, about a thousand words: the length of a short article."""
PRETRAINED, UNTRAINED, BASELINE = "pre-trained", "not pre-trained", "baseline"
READ_BOTH = ("pair words", "overlap")
"""The baselines with which models are compared."""


@dataclass(frozen=True)
class LearnedWords:
    """An entrant's pre-trainings, a result a seed."""

    entrant: Entrant
    results: tuple[WordsResult, ...]
    milliseconds: float
    """Of the processor, for forward and backward of one step."""

    @property
    def name(self) -> str:
        """The entrant's."""
        return self.entrant.name

    @property
    def losses(self) -> Interval:
        """Nats a hidden word, with the interval over seeds."""
        return mean_interval([result.scores.loss for result in self.results])

    @property
    def accuracies(self) -> Interval:
        """The share of hidden words that are found."""
        return mean_interval([result.scores.accuracy for result in self.results])

    @property
    def windows(self) -> NDArray[np.float64]:
        """(seeds, windows): mean losses."""
        return np.stack([result.scores.losses for result in self.results])


@dataclass(frozen=True)
class LearnedEntailment:
    """A system's answers to the test set: of an entrant a result a seed, of a baseline one."""

    system: str
    """An entrant's name or a baseline's."""
    what: str
    """PRETRAINED, UNTRAINED or BASELINE."""
    results: tuple[TestResult, ...]
    right: NDArray[np.float64]
    """(seeds, pairs): 1 where the class is right."""

    @property
    def name(self) -> str:
        """Of its own: an entrant is there twice, with and without pre-training."""
        return f"{self.system}, {UNTRAINED}" if self.what == UNTRAINED else self.system

    def accuracy(self, chosen: NDArray[np.bool_] | None = None) -> Interval:
        """The share of right answers among the chosen pairs; with one seed, the interval is over pairs alone."""
        right = self.right if chosen is None else self.right[:, chosen]
        if len(right) == 1:
            return wilson(int(right.sum()), right.shape[1])
        return mean_interval(right.mean(axis=1))


@dataclass(frozen=True)
class Outcomes:
    """All of it."""

    words: tuple[LearnedWords, ...]
    ablations: tuple[LearnedWords, ...]
    entailment: tuple[LearnedEntailment, ...]
    sources: NDArray[np.str_]
    """Of each test pair."""
    words_compared: tuple[Comparison, ...]
    entailment_compared: tuple[Comparison, ...]
    over: Over
    """What the comparisons are to hold for."""


def outcomes_of(experiment: Experiment) -> Outcomes:
    """Gather all results, which must be there."""
    seeds = range(experiment.budget.seeds)
    both = (*experiment.entrants, *experiment.ablations)
    budget = experiment.budget
    times = step_times({one.name: one.recipe(budget, FIRST, budget.rates[0]) for one in both}, experiment.text)

    def learned(entrant: Entrant, count: range) -> LearnedWords:
        results = tuple(Words.of(experiment, entrant, seed).result for seed in count)
        return LearnedWords(entrant, results, times[entrant.name])

    words = tuple(learned(one, seeds) for one in experiment.entrants)
    ablations = tuple(learned(one, range(FIRST, FIRST + 1)) for one in experiment.ablations)
    entailment = _entailment(experiment, seeds)
    over = Over.EXAMPLES_AND_SEEDS if len(seeds) > 1 else Over.EXAMPLES
    return Outcomes(
        words,
        ablations,
        entailment,
        np.array(experiment.entailment.test.sources),
        _words_compared(words, over),
        _entailment_compared(entailment, experiment.entailment.test.groups, over),
        over,
    )


def _entailment(experiment: Experiment, seeds: range) -> tuple[LearnedEntailment, ...]:
    test = experiment.entailment.test.pairs
    true = [test.names[label] for label in test.labels]

    def system(name: str, what: str, results: tuple[TestResult, ...]) -> LearnedEntailment:
        right = [[said == one for said, one in zip(result.predicted, true, strict=True)] for result in results]
        return LearnedEntailment(name, what, results, np.array(right, dtype=np.float64))

    simple = [
        system(baseline.name, BASELINE, (BaselineTest.of(experiment, baseline).result,)) for baseline in BASELINES
    ]
    learned = [
        system(
            learner.entrant.name,
            PRETRAINED if learner.is_pretrained else UNTRAINED,
            tuple(Test.of(experiment, learner, seed).result for seed in seeds),
        )
        for learner in learners_of(experiment)
    ]
    return (*simple, *learned)


def _words_compared(learned: tuple[LearnedWords, ...], over: Over) -> tuple[Comparison, ...]:
    """All pairs of entrants; ablations, which have one seed, are not among them.

    Windows of a text follow each other, so those of one article are no independent examples; without the articles' ends
    at hand, runs of windows are resampled together.
    """
    scores = {one.name: one.windows for one in learned}
    count = next(iter(scores.values())).shape[1]
    if len(scores) < 2 or count < 2:
        return ()
    together = min(TOGETHER, count // 2)
    return compare_all(scores, groups=[place // together for place in range(count)], over=over, draws=DRAWS)


def _entailment_compared(
    systems: tuple[LearnedEntailment, ...], groups: tuple[int, ...], over: Over
) -> tuple[Comparison, ...]:
    """The questions that were asked before looking: pre-trained entrants with each other, each with itself without
    pre-training, and each with the two simple methods that read both texts."""
    learned = [one.name for one in systems if one.what == PRETRAINED]
    pairs = [
        *combinations(learned, 2),
        *((one.system, one.name) for one in systems if one.what == UNTRAINED),
        *((name, simple) for name in learned for simple in READ_BOTH),
    ]
    # A baseline has no seeds: it has one row of scores, which no seed would change.
    scores = {one.name: one.right[0] if one.what == BASELINE else one.right for one in systems}
    return compare_all(scores, pairs=pairs, groups=groups, over=over, draws=DRAWS)
