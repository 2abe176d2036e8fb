"""The part of a comparison in which models learn entailment, and its end: the one look at the test set."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, final

import numpy as np

from anyformer.errors import TrainingError
from anyformer.training.comparison.baselines import Baseline
from anyformer.training.comparison.baselines import predict as fit_and_predict
from anyformer.training.comparison.entrants import Entrant
from anyformer.training.comparison.experiment import Experiment, ResultJob, RunJob, last
from anyformer.training.comparison.jobs import Job, Watching
from anyformer.training.comparison.learning_words import Pretraining, loaded
from anyformer.training.comparison.results import TestResult
from anyformer.training.data.vocabulary import load_tokenizer
from anyformer.training.evaluation.predicting import digest_of_answers, predict
from anyformer.training.run.folder import RunFolder
from anyformer.training.tasks.finetune import finetune
from anyformer.training.tasks.pretrain import fresh

FIRST = 0
"""The seed that chooses learning rates."""


@final
@dataclass(frozen=True)
class Learner:
    """An entrant that learns entailment, after its pre-training or without any."""

    entrant: Entrant
    is_pretrained: bool

    @property
    def name(self) -> str:
        """As in file names: attention-pretrained, attention-untrained."""
        return f"{self.entrant.name}-{'pretrained' if self.is_pretrained else 'untrained'}"


def learners_of(experiment: Experiment) -> tuple[Learner, ...]:
    """Every entrant in both ways."""
    return tuple(Learner(entrant, first) for first in (True, False) for entrant in experiment.entrants)


@final
@dataclass(frozen=True)
class Tuning(RunJob):
    """A learner is trained with one learning rate; None is the one that the first seed found best."""

    learner: Learner
    seed: int
    asked: float | None

    @classmethod
    def of(cls, experiment: Experiment, learner: Learner, seed: int, asked: float | None) -> Self:
        """The job of an entrant, a seed and a rate."""
        rate = "chosen" if asked is None else f"{asked:g}"
        return cls(f"tuning-{learner.name}-{seed}-{rate}", experiment, learner, seed, asked)

    @property
    def folder(self) -> RunFolder:
        """Of the fine-tuning."""
        return self.experiment.run("tuning", self.name.removeprefix("tuning-"))

    @property
    def rate(self) -> float:
        """The learning rate; for later seeds only known once the first has chosen."""
        return Test.of(self.experiment, self.learner, FIRST).rate if self.asked is None else self.asked

    @property
    def needs(self) -> Sequence[Job]:
        """The pre-trained model, and for later seeds the rate."""
        model = (self._pretraining,) if self.learner.is_pretrained else ()
        first = Test.of(self.experiment, self.learner, FIRST)
        return (*model, *(first.candidates if self.asked is None and not first.is_complete else ()))

    @property
    def accuracy(self) -> float:
        """On the pairs for validation, at the end."""
        return last(self.folder, "accuracy")

    def do(self, watching: Watching) -> None:
        """Train on the training pairs, and measure once, at the end, on those for validation."""
        budget, data = self.experiment.budget, self.experiment.entailment
        schedule = replace(budget.tuning, seed=self.seed, learning_rate=self.rate)
        steps = schedule.for_epochs(len(data.train), budget.epochs).steps
        schedule = replace(schedule, steps=steps, evaluate_every=steps, save_every=max(steps // 5, 1))
        with watching(self.name, schedule) as watch:
            pairs = (data.train.pairs, data.validation.pairs)
            finetune(self._start(), *pairs, self.folder.place, budget.epochs, schedule, watch)

    @property
    def _pretraining(self) -> Pretraining:
        return Pretraining.of(self.experiment, self.learner.entrant, self.seed)

    def _start(self) -> Path:
        """The model that is fine-tuned: the pre-trained one, or what its pre-training started from."""
        if self.learner.is_pretrained:
            return self._pretraining.folder.model
        folder = self.experiment.run("untrained", f"{self.learner.entrant.name}-{self.seed}")
        if not folder.model.is_dir():
            budget, tokenizer = self.experiment.budget, self.experiment.text.tokenizer
            recipe = self.learner.entrant.recipe(budget, self.seed, budget.rates[0])
            folder.place.mkdir(parents=True, exist_ok=True)
            folder.finish(fresh(recipe, len(tokenizer)), tokenizer)
        return folder.model


@final
@dataclass(frozen=True)
class Test(ResultJob):
    """What a learner says of the test set."""

    learner: Learner
    seed: int

    @classmethod
    def of(cls, experiment: Experiment, learner: Learner, seed: int) -> Self:
        """The job of a learner and a seed."""
        return cls(f"test-{learner.name}-{seed}", experiment, learner, seed)

    @property
    def candidates(self) -> tuple[Tuning, ...]:
        """Fine-tuning with each rate for the first seed, and with the chosen one for the others."""
        rates: Sequence[float | None] = self.experiment.budget.tuning_rates if self.seed == FIRST else (None,)
        return tuple(Tuning.of(self.experiment, self.learner, self.seed, rate) for rate in rates)

    @property
    def needs(self) -> Sequence[Job]:
        """All learning rates that are still to choose, of all learners: no test prediction is made before."""
        return (*self.candidates, *choices_left(self.experiment))

    @property
    def result(self) -> TestResult:
        """What was predicted, which must be for this test set."""
        return _of_this_test_set(self.experiment, self.name)

    @property
    def rate(self) -> float:
        """The learning rate that does best on the pairs for validation."""
        return self.result.rate if self.is_complete else self._best.rate

    @property
    def _best(self) -> Tuning:
        return max(self.candidates, key=lambda tuning: tuning.accuracy)

    def do(self, watching: Watching) -> None:
        """Predict, once."""
        from anyformer.mixers.bert import MixerBertForSequenceClassification

        best, test = self._best, self.experiment.entailment.test
        model = loaded(MixerBertForSequenceClassification, best.folder)
        said = predict(model, load_tokenizer(best.folder.model), test.pairs)
        rates = {f"{tuning.rate:g}": tuning.accuracy for tuning in self.candidates}
        predicted = tuple(map(str, said.predicted))
        result = TestResult(self.experiment.entailment.digest, rates, best.rate, predicted, said.digest())
        result.save(self.file)


@final
@dataclass(frozen=True)
class BaselineTest(ResultJob):
    """What a simple method says of the test set."""

    baseline: Baseline

    @classmethod
    def of(cls, experiment: Experiment, baseline: Baseline) -> Self:
        """The job of a baseline."""
        return cls(f"baseline-{baseline.name.replace(' ', '-')}", experiment, baseline)

    @property
    def needs(self) -> Sequence[Job]:
        """As for the learners: first all choices, then the test set."""
        return choices_left(self.experiment)

    @property
    def result(self) -> TestResult:
        """What was predicted, which must be for this test set."""
        return _of_this_test_set(self.experiment, self.name)

    def do(self, watching: Watching) -> None:
        """Fit, and predict once."""
        data = self.experiment.entailment
        said = fit_and_predict(self.baseline, data.train.pairs, data.validation.pairs, data.test.pairs)
        names = data.test.pairs.names
        right = np.mean(np.array(said.validation) == np.array(data.validation.pairs.labels))
        predicted = tuple(names[label] for label in said.test)
        settings = {f"{said.setting:g}": float(right)}
        TestResult(data.digest, settings, said.setting, predicted, digest_of_answers(predicted)).save(self.file)


def choices_left(experiment: Experiment) -> tuple[Tuning, ...]:
    """The fine-tunings of the first seed, by which rates are chosen; none of a learner that has been tested."""
    firsts = [Test.of(experiment, learner, FIRST) for learner in learners_of(experiment)]
    return tuple(tuning for first in firsts if not first.is_complete for tuning in first.candidates)


def _of_this_test_set(experiment: Experiment, name: str) -> TestResult:
    file = experiment.result(name)
    result = TestResult.load(file)
    if result.test_set != experiment.entailment.digest:
        raise TrainingError(
            f"{file} must be about the test set {experiment.entailment.digest:.12}; it is about"
            f" {result.test_set:.12}. Delete it, or give the same pairs."
        )
    test = experiment.entailment.test.pairs
    if len(result.predicted) != len(test) or not set(result.predicted) <= set(test.names):
        raise TrainingError(
            f"{file} must name one of {', '.join(test.names)} for each of {len(test)} pairs; it does not. Delete it to"
            " have it made again."
        )
    if result.digest != digest_of_answers(result.predicted):
        raise TrainingError(
            f"{file} must hold the predictions whose digest it names, {result.digest:.12}; they were changed. Delete it"
            " to have it made again."
        )
    return result
