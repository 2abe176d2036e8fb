"""The runs of a comparison: try rates, pre-train, measure all held-out words, fine-tune, and look at the test set once.

rates/         short runs that choose a learning rate for each mixer
pretraining/   a run for each mixer and seed
words/         what each of these says of every held-out window
untrained/     the same models before any training
tuning/        fine-tuning of both, with each rate for the first seed and with the best one for the others
test/          predictions for the test set: made once, when nothing is left to choose
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import torch

from anyformer import strict_json
from anyformer.atomic import atomic_file, write_text
from anyformer.errors import TrainingError
from anyformer.saved_folders import quiet
from anyformer.training.comparison.budgets import Budget
from anyformer.training.comparison.entailment import Entailment, Part
from anyformer.training.comparison.entrants import Entrant, ablations_of
from anyformer.training.comparison.jobs import Job, Watching, work
from anyformer.training.data.corpus import Corpus
from anyformer.training.data.vocabulary import load_tokenizer
from anyformer.training.evaluation.predicting import predict
from anyformer.training.evaluation.words import WordScores, measure_words
from anyformer.training.run.folder import RunFolder, removed_after_a_mistake, require_only
from anyformer.training.run.recipe import Schedule
from anyformer.training.run.writing import writing
from anyformer.training.tasks.finetune import finetune
from anyformer.training.tasks.masked_words import Marks
from anyformer.training.tasks.pretrain import (
    Prepared,
    fresh,
    prepare,
    pretrain,
    require_possible,
    require_windows,
    tokens_of,
)

FOLDERS = frozenset({"text", "rates", "pretraining", "words", "untrained", "tuning", "test", "locks", "report"})


@final
@dataclass(frozen=True)
class Comparison:
    """What is compared, on what, and where."""

    budget: Budget
    entrants: tuple[Entrant, ...]
    text: Prepared
    """Its `valid` is for choosing rates and for curves."""
    measured: np.ndarray[Any, Any]
    """The tokens on which all models are measured in the end."""
    entailment: Entailment
    place: Path

    @property
    def ablations(self) -> tuple[Entrant, ...]:
        """Pre-trained as well, from BERT's start."""
        return ablations_of(self.budget, self.entrants)

    def jobs(self) -> list[Job]:
        """Everything to do, seed by seed: after an interruption the mixers' numbers of runs differ by at most one."""
        both, seeds = (*self.entrants, *self.ablations), range(self.budget.seeds)
        rates = [job for entrant in both for job in self.rate_trials(entrant)]
        words = [Words.of(self, entrant, seed) for seed in seeds for entrant in self.entrants]
        extra = [Words.of(self, entrant, 0) for entrant in self.ablations]
        tunings = [
            job
            for seed in seeds
            for entrant in self.entrants
            for is_pretrained in (True, False)
            for job in self.tunings(entrant, seed, is_pretrained)
        ]
        needed = [need for job in (*words, *extra) for need in job.needs]
        ordered = sorted((job for job in needed if isinstance(job, Pretraining)), key=_first_entrants(self))
        tests = [
            Test.of(self, entrant, seed, is_pretrained)
            for seed in seeds
            for entrant in self.entrants
            for is_pretrained in (True, False)
        ]
        # What the table needs comes first; ablations are by the way.
        count = len(self.entrants) * self.budget.seeds
        main = [job for job in rates if job.entrant in self.entrants]
        other = [job for job in rates if job.entrant not in self.entrants]
        return [*main, *ordered[:count], *words, *tunings, *tests, *other, *ordered[count:], *extra]

    def rate_trials(self, entrant: Entrant) -> tuple["RateTrial", ...]:
        """A short run for each rate; none where there is nothing to choose."""
        rates = self.budget.rates
        return tuple(RateTrial.of(self, entrant, rate) for rate in rates) if len(rates) > 1 else ()

    def rate(self, entrant: Entrant) -> float:
        """The rate with the lowest loss on words held out, after its trial."""
        trials = self.rate_trials(entrant)
        return min(trials, key=lambda trial: trial.loss).rate if trials else self.budget.rates[0]

    def tunings(self, entrant: Entrant, seed: int, is_pretrained: bool) -> tuple["Tuning", ...]:
        """Fine-tuning with each rate for the first seed, and with the chosen one for the others."""
        rates: Sequence[float | None] = self.budget.tuning_rates if seed == 0 else (None,)
        return tuple(Tuning.of(self, entrant, seed, is_pretrained, rate) for rate in rates)

    def tuned(self, entrant: Entrant, seed: int, is_pretrained: bool) -> "Tuning":
        """The fine-tuning that is tested: of the first seed, the one that is best on the pairs for validation."""
        return max(self.tunings(entrant, seed, is_pretrained), key=lambda tuning: tuning.accuracy)


def _first_entrants(comparison: Comparison) -> Any:
    """The order of pre-trainings: seed by seed, and ablations after all seeds."""
    names = [one.name for one in (*comparison.entrants, *comparison.ablations)]
    count = len(comparison.entrants)

    def key(job: Pretraining) -> tuple[bool, int, int]:
        number = names.index(job.entrant.name)
        return number >= count, job.seed, number

    return key


@final
@dataclass(frozen=True)
class RateTrial(Job):
    """A short pre-training with one learning rate."""

    comparison: Comparison
    entrant: Entrant
    rate: float

    @classmethod
    def of(cls, comparison: Comparison, entrant: Entrant, rate: float) -> "RateTrial":
        """Named for both."""
        return cls(f"rate-{entrant.name}-{rate:g}", comparison, entrant, rate)

    @property
    def folder(self) -> RunFolder:
        """Its run."""
        return RunFolder(self.comparison.place / "rates" / f"{self.entrant.name}-{self.rate:g}")

    @property
    def is_complete(self) -> bool:
        """Whether it ended."""
        return self.folder.is_complete

    @property
    def loss(self) -> float:
        """On held-out words, at its end."""
        return last(self.folder, "validation_loss")

    def do(self, watching: Watching) -> None:
        """Train; the rate falls to 0 within the trial."""
        steps = self.comparison.budget.trial_steps
        recipe = self.entrant.recipe(self.comparison.budget, 0, self.rate)
        recipe = recipe.changed(schedule={"steps": steps, "evaluate_every": steps, "save_every": steps})
        with watching(f"{self.entrant.name}, rate {self.rate:g}", recipe.schedule) as watch:
            pretrain(recipe, self.comparison.text, self.folder.place, watch)


@final
@dataclass(frozen=True)
class Pretraining(Job):
    """An entrant learns words."""

    comparison: Comparison
    entrant: Entrant
    seed: int

    @classmethod
    def of(cls, comparison: Comparison, entrant: Entrant, seed: int) -> "Pretraining":
        """Named for entrant and seed."""
        return cls(f"pretraining-{entrant.name}-{seed}", comparison, entrant, seed)

    @property
    def folder(self) -> RunFolder:
        """Its run."""
        return RunFolder(self.comparison.place / "pretraining" / f"{self.entrant.name}-{self.seed}")

    @property
    def needs(self) -> Sequence[Job]:
        """The rate must be known."""
        return self.comparison.rate_trials(self.entrant)

    @property
    def is_complete(self) -> bool:
        """Whether it ended."""
        return self.folder.is_complete

    def do(self, watching: Watching) -> None:
        """Train."""
        recipe = self.entrant.recipe(self.comparison.budget, self.seed, self.comparison.rate(self.entrant))
        with watching(f"{self.entrant.name}, seed {self.seed}: words", recipe.schedule) as watch:
            pretrain(recipe, self.comparison.text, self.folder.place, watch)


@final
@dataclass(frozen=True)
class Words(Job):
    """What a pre-trained entrant says of all held-out words."""

    comparison: Comparison
    entrant: Entrant
    seed: int

    @classmethod
    def of(cls, comparison: Comparison, entrant: Entrant, seed: int) -> "Words":
        """Named for entrant and seed."""
        return cls(f"words-{entrant.name}-{seed}", comparison, entrant, seed)

    @property
    def pretraining(self) -> Pretraining:
        """The run whose model is measured."""
        return Pretraining.of(self.comparison, self.entrant, self.seed)

    @property
    def needs(self) -> Sequence[Job]:
        """The model."""
        return (self.pretraining,)

    @property
    def file(self) -> Path:
        """Losses and accuracies, window by window."""
        return self.comparison.place / "words" / f"{self.entrant.name}-{self.seed}.npy"

    @property
    def is_complete(self) -> bool:
        """Whether it was written."""
        return self.file.is_file()

    @property
    def scores(self) -> WordScores:
        """What was measured."""
        losses, accuracies = np.load(self.file, allow_pickle=False)
        return WordScores(losses, accuracies, self.comparison.budget.recipe.text.hidden)

    def do(self, watching: Watching) -> None:
        """Measure all windows, in 32 bits."""
        from anyformer.mixers.bert import MixerBertForMaskedLM, MixerBertForPreTraining

        recipe, tokenizer = self.comparison.budget.recipe, self.comparison.text.tokenizer
        head = MixerBertForPreTraining if recipe.text.following else MixerBertForMaskedLM
        model = _loaded(head, self.pretraining.folder.model)
        scores = measure_words(model, self.comparison.measured, Marks.of(tokenizer), recipe.text)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with writing("what was measured", self.file), atomic_file(self.file) as file:
            np.save(file, np.stack([scores.losses, scores.accuracies]), allow_pickle=False)


@final
@dataclass(frozen=True)
class Tuning(Job):
    """An entrant learns entailment, after its pre-training or without any."""

    comparison: Comparison
    entrant: Entrant
    seed: int
    is_pretrained: bool
    asked: float | None
    """The rate; None is the one that the first seed found best."""

    @classmethod
    def of(
        cls, comparison: Comparison, entrant: Entrant, seed: int, is_pretrained: bool, asked: float | None
    ) -> "Tuning":
        """Named for all of them."""
        how = "pretrained" if is_pretrained else "untrained"
        rate = "chosen" if asked is None else f"{asked:g}"
        return cls(f"tuning-{entrant.name}-{how}-{seed}-{rate}", comparison, entrant, seed, is_pretrained, asked)

    @property
    def folder(self) -> RunFolder:
        """Its run."""
        return RunFolder(self.comparison.place / "tuning" / self.name.removeprefix("tuning-"))

    @property
    def rate(self) -> float:
        """The learning rate; only known for later seeds once the first has chosen."""
        return self._chosen.rate if self.asked is None else self.asked

    @property
    def _chosen(self) -> "Tuning":
        return self.comparison.tuned(self.entrant, 0, self.is_pretrained)

    @property
    def needs(self) -> Sequence[Job]:
        """The pre-trained model, and for later seeds the rate."""
        model = (Pretraining.of(self.comparison, self.entrant, self.seed),) if self.is_pretrained else ()
        rates = self.comparison.tunings(self.entrant, 0, self.is_pretrained) if self.asked is None else ()
        return (*model, *rates)

    @property
    def is_complete(self) -> bool:
        """Whether it ended."""
        return self.folder.is_complete

    @property
    def accuracy(self) -> float:
        """On the pairs for validation, at the end."""
        return last(self.folder, "accuracy")

    def do(self, watching: Watching) -> None:
        """Train on the training pairs, and measure on those for validation."""
        comparison = self.comparison
        budget, data = comparison.budget, comparison.entailment
        schedule = replace(budget.tuning, seed=self.seed, learning_rate=self.rate)
        steps = schedule.for_epochs(len(data.train), budget.epochs)
        schedule = replace(schedule, evaluate_every=steps.steps, save_every=max(steps.steps // 5, 1))
        with watching(f"{self.name.removeprefix('tuning-')}: entailment", steps) as watch:
            pairs = (data.train.pairs, data.validation.pairs)
            finetune(self._start(), *pairs, self.folder.place, budget.epochs, schedule, watch)

    def _start(self) -> Path:
        """The model that is fine-tuned: the pre-trained one, or what its pre-training started from."""
        if self.is_pretrained:
            return Pretraining.of(self.comparison, self.entrant, self.seed).folder.model
        folder = RunFolder(self.comparison.place / "untrained" / f"{self.entrant.name}-{self.seed}")
        if not folder.model.is_dir():
            budget, tokenizer = self.comparison.budget, self.comparison.text.tokenizer
            recipe = self.entrant.recipe(budget, self.seed, budget.rates[0])
            folder.place.mkdir(parents=True, exist_ok=True)
            folder.finish(fresh(recipe, len(tokenizer)), tokenizer)
        return folder.model


@final
@dataclass(frozen=True)
class Test(Job):
    """The one look at the test set: what a fine-tuned entrant says of its pairs."""

    comparison: Comparison
    entrant: Entrant
    seed: int
    is_pretrained: bool

    @classmethod
    def of(cls, comparison: Comparison, entrant: Entrant, seed: int, is_pretrained: bool) -> "Test":
        """Named for all of them."""
        how = "pretrained" if is_pretrained else "untrained"
        return cls(f"test-{entrant.name}-{how}-{seed}", comparison, entrant, seed, is_pretrained)

    @property
    def needs(self) -> Sequence[Job]:
        """All fine-tuning of all entrants: nothing may be left to choose when somebody looks."""
        return [job for job in self.comparison.jobs() if isinstance(job, Tuning)]

    @property
    def file(self) -> Path:
        """Predictions with their digest."""
        return self.comparison.place / "test" / f"{self.name.removeprefix('test-')}.json"

    @property
    def is_complete(self) -> bool:
        """Whether it was written."""
        return self.file.is_file()

    @property
    def predicted(self) -> tuple[int, ...]:
        """The class of each pair of the test set, as a place among the labels.

        Raises:
            TrainingError: if the file is of another test set, or damaged.
        """
        try:
            told = strict_json.read(self.file)
        except ValueError as error:
            raise TrainingError(f"{self.file} must hold predictions; it is damaged: {error}. Delete it.") from error
        wanted, names = self.comparison.entailment.digest, self.comparison.entailment.test.pairs.names
        if not isinstance(told, dict) or told.get("test_set") != wanted:
            raise TrainingError(f"{self.file} must be about the test set {wanted:.12}; it is about another.")
        return tuple(names.index(one) for one in told["predicted"])

    def do(self, watching: Watching) -> None:
        """Predict, and write."""
        from anyformer.mixers.bert import MixerBertForSequenceClassification

        tuned = self.comparison.tuned(self.entrant, self.seed, self.is_pretrained)
        model = _loaded(MixerBertForSequenceClassification, tuned.folder.model)
        test = self.comparison.entailment.test
        said = predict(model, load_tokenizer(tuned.folder.model), test.pairs)
        told = {
            "test_set": self.comparison.entailment.digest,
            "model": tuned.name,
            "learning_rate": tuned.rate,
            "validation_accuracy": tuned.accuracy,
            "digest": said.digest(),
            "predicted": said.predicted,
        }
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with writing("predictions", self.file):
            write_text(self.file, json.dumps(told) + "\n")


def begin(
    budget: Budget,
    entrants: tuple[Entrant, ...],
    corpus: Corpus,
    texts: tuple[Corpus | None, Corpus | None],
    entailment: Entailment,
    place: Path,
) -> Comparison:
    """Make this the folder of a comparison, or check that it is already; then tokenize the texts once for all runs.

    Args:
        budget: one of BUDGETS, or another.
        entrants: what is compared.
        corpus: the text to train on.
        texts: what rates are chosen by (else the end of the corpus), and what is measured on in the end (else the
            same).
        entailment: pairs in three parts.
        place: the folder.

    Raises:
        TrainingError: if it belongs to something else, or to other texts, pairs or another budget; then nothing is
            touched.
    """
    folder = RunFolder(place)
    if folder.identity_file.is_file():
        require_only(place, {folder.identity_file.name, *FOLDERS})
    valid, test = texts
    for one in entrants:
        require_possible(one.recipe(budget, 0, budget.rates[0]))
    with removed_after_a_mistake(place, folder.identity_file.name, "text"):
        folder.begin(identity(budget, corpus, texts, entailment))
        text = prepare(corpus, place / "text", budget.recipe.architecture.vocabulary, held_out=valid)
        require_windows(budget.recipe, text)
        measured = text.valid if test is None else tokens_of(test, text.tokenizer, place / "text" / "measured.npy").ids
    return Comparison(budget, entrants, text, measured, entailment, place)


def identity(
    budget: Budget, corpus: Corpus, texts: tuple[Corpus | None, Corpus | None], entailment: Entailment
) -> dict[str, Any]:
    """Everything that all runs share; seeds and entrants are left out, because more of them may follow."""
    parts = {"train": entailment.train, "validation": entailment.validation, "test": entailment.test}
    return {
        "experiment": "mixers",
        "recipe": budget.recipe.to_json(),
        "rates": list(budget.rates),
        "trial_steps": budget.trial_steps,
        "tuning": _schedule(budget.tuning),
        "tuning_rates": list(budget.tuning_rates),
        "epochs": budget.epochs,
        "text": [None if one is None else one.digest() for one in (corpus, *texts)],
        "entailment": {name: _part(part) for name, part in parts.items()},
    }


def _schedule(schedule: Schedule) -> Mapping[str, Any]:
    return {name: getattr(schedule, name) for name in ("batch", "warmup", "weight_decay", "precision")}


def _part(part: Part) -> Mapping[str, Any]:
    return {"pairs": len(part), "digest": part.digest}


def compare(comparison: Comparison, watching: Watching) -> Iterator[Job]:
    """Do all that no other process is doing; each job is yielded when it is done."""
    yield from work(comparison.jobs(), comparison.place / "locks", watching)


def last(folder: RunFolder, name: str) -> float:
    """The newest measurement of this name."""
    return float([row[name] for row in folder.rows() if name in row][-1])


def _loaded(head: Any, place: Path) -> Any:
    with quiet():
        model = head.from_pretrained(place, local_files_only=True, use_safetensors=True)
    return model.to(torch.float32).eval()
