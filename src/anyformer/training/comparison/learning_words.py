"""The part of a comparison in which mixers learn words: try rates, pre-train, measure all held-out words."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

from anyformer import strict_json
from anyformer.errors import TrainingError
from anyformer.saved_folders import quiet
from anyformer.training.comparison.entrants import Entrant
from anyformer.training.comparison.experiment import Experiment, ResultJob, RunJob, last
from anyformer.training.comparison.jobs import Job, Watching
from anyformer.training.comparison.results import WordsResult
from anyformer.training.evaluation.words import measure_words, windows_in
from anyformer.training.run.folder import RunFolder
from anyformer.training.run.recipe import Recipe
from anyformer.training.tasks.masked_words import Marks
from anyformer.training.tasks.pretrain import pretrain


@final
@dataclass(frozen=True)
class RateTrial(RunJob):
    """A short pre-training with one learning rate, which falls to 0 within the trial."""

    entrant: Entrant
    rate: float

    @classmethod
    def of(cls, experiment: Experiment, entrant: Entrant, rate: float) -> Self:
        """The job of an entrant and a rate."""
        return cls(f"rate-{entrant.name}-{rate:g}", experiment, entrant, rate)

    @property
    def folder(self) -> RunFolder:
        """Of the pre-training."""
        return self.experiment.run("rates", f"{self.entrant.name}-{self.rate:g}")

    @property
    def loss(self) -> float:
        """On held-out words, at its end."""
        return last(self.folder, "validation_loss")

    def do(self, watching: Watching) -> None:
        """Pre-train, or go on with it."""
        steps = self.experiment.budget.trial_steps
        recipe = self.entrant.recipe(self.experiment.budget, 0, self.rate)
        recipe = recipe.changed(schedule={"steps": steps, "evaluate_every": steps, "save_every": steps})
        with watching(f"{self.entrant.name}, rate {self.rate:g}", recipe.schedule) as watch:
            pretrain(recipe, self.experiment.text, self.folder.place, watch)


def rate_trials(experiment: Experiment, entrant: Entrant) -> tuple[RateTrial, ...]:
    """A trial for each rate; none where there is nothing to choose, or where an earlier seed has chosen."""
    rates = experiment.budget.rates
    if len(rates) == 1 or _earlier(experiment, entrant) is not None:
        return ()
    return tuple(RateTrial.of(experiment, entrant, rate) for rate in rates)


def tried_rates(experiment: Experiment, entrant: Entrant) -> dict[str, float]:
    """The loss after each trial, by the rate."""
    earlier = _earlier(experiment, entrant)
    if earlier is not None:
        return earlier.rates
    return {f"{trial.rate:g}": trial.loss for trial in rate_trials(experiment, entrant)}


def chosen_rate(experiment: Experiment, entrant: Entrant) -> float:
    """The rate with the lowest loss on held-out words after its trial."""
    tried = tried_rates(experiment, entrant)
    return float(min(tried, key=tried.__getitem__)) if tried else experiment.budget.rates[0]


def _earlier(experiment: Experiment, entrant: Entrant) -> WordsResult | None:
    """The first seed's result, which knows the rate that was chosen."""
    file = experiment.result(f"words-{entrant.name}-0")
    return WordsResult.load(file) if file.is_file() else None


@final
@dataclass(frozen=True)
class Pretraining(RunJob):
    """An entrant learns words."""

    entrant: Entrant
    seed: int

    @classmethod
    def of(cls, experiment: Experiment, entrant: Entrant, seed: int) -> Self:
        """The job of an entrant and a seed."""
        return cls(f"pretraining-{entrant.name}-{seed}", experiment, entrant, seed)

    @property
    def folder(self) -> RunFolder:
        """Of the pre-training."""
        return self.experiment.run("pretraining", f"{self.entrant.name}-{self.seed}")

    @property
    def recipe(self) -> Recipe:
        """The entrant's, with the rate that was chosen."""
        return self.entrant.recipe(self.experiment.budget, self.seed, chosen_rate(self.experiment, self.entrant))

    @property
    def needs(self) -> Sequence[Job]:
        """The rate must be known."""
        return rate_trials(self.experiment, self.entrant)

    def do(self, watching: Watching) -> None:
        """Pre-train, or go on with it."""
        with watching(f"{self.entrant.name}, seed {self.seed}: words", self.recipe.schedule) as watch:
            pretrain(self.recipe, self.experiment.text, self.folder.place, watch)


@final
@dataclass(frozen=True)
class Words(ResultJob):
    """What a pre-trained entrant says of all held-out words."""

    entrant: Entrant
    seed: int

    @classmethod
    def of(cls, experiment: Experiment, entrant: Entrant, seed: int) -> Self:
        """The job of an entrant and a seed."""
        return cls(f"words-{entrant.name}-{seed}", experiment, entrant, seed)

    @property
    def pretraining(self) -> Pretraining:
        """The run whose model is measured."""
        return Pretraining.of(self.experiment, self.entrant, self.seed)

    @property
    def needs(self) -> Sequence[Job]:
        """The model, and the rate that it must have been trained with."""
        return (*rate_trials(self.experiment, self.entrant), self.pretraining)

    @property
    def result(self) -> WordsResult:
        """What was measured.

        Raises:
            TrainingError: if the file, which may come from elsewhere, is of another recipe or text.
        """
        found, experiment = WordsResult.load(self.file), self.experiment
        recipe = self.entrant.recipe(experiment.budget, self.seed, found.rate)
        windows = windows_in(experiment.measured, recipe.text)
        if found.recipe != strict_json.loads(json.dumps(recipe.to_json())) or len(found.scores.losses) != windows:
            raise TrainingError(
                f"{self.file} must be of this comparison's recipe and of the {windows} windows of its text; it is of"
                " another. Delete it to have it made again."
            )
        return found

    def do(self, watching: Watching) -> None:
        """Measure all windows, in 32 bits.

        Raises:
            TrainingError: if the run is of another recipe: its folder may be older than the choice of the rate.
        """
        from anyformer.mixers.bert import MixerBertForMaskedLM, MixerBertForPreTraining

        experiment, folder = self.experiment, self.pretraining.folder
        recipe = self.pretraining.recipe
        folder.require_same({"recipe": recipe.to_json(), "text": experiment.text.identity()})
        model = loaded(MixerBertForPreTraining if recipe.text.following else MixerBertForMaskedLM, folder)
        scores = measure_words(model, experiment.measured, Marks.of(experiment.text.tokenizer), recipe.text)
        WordsResult(
            recipe.to_json(),
            tried_rates(experiment, self.entrant),
            sum(one.numel() for one in model.parameters()),
            tuple((row["step"], row["validation_loss"]) for row in folder.rows() if "validation_loss" in row),
            scores,
        ).save(self.file)


def loaded(head: Any, folder: RunFolder) -> Any:
    """The model that a run has made."""
    with quiet():
        return head.from_pretrained(
            folder.model, local_files_only=True, trust_remote_code=False, use_safetensors=True
        ).eval()
