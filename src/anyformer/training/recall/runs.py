"""The runs of associative recall: for each mixer and question all learning rates, then the best one with more seeds.

Processes share them. Runs use one thread, so that their numbers do not depend on the number of cores.
"""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from anyformer.mixers.bert import MixerBertConfig, MixerBertForMaskedLM
from anyformer.training.recall.budgets import Budget, Entrant, described
from anyformer.training.recall.task import Question, Recall, name_of
from anyformer.training.run import seeds
from anyformer.training.run.folder import RunFolder
from anyformer.training.run.loop import run_in, train
from anyformer.training.run.trials import begin_experiment, do_each, finish_trial, one_thread, read_outcome
from anyformer.training.tasks.initialization import initialize

EXPERIMENT = "recall"
FIRST = 0
"""The seed with which learning rates are chosen."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to: the shares of queries answered, by number of pairs in the order of the budget."""

    validation: tuple[float, ...]
    """On the sequences measured while training: what rates are chosen by."""
    test: tuple[float, ...]
    """On other ones."""
    steps: int
    """As many as were needed until every query measured was answered, or all of the budget."""
    seconds: float
    parameters: int


@dataclass(frozen=True)
class Trial:
    """A mixer, a question, a learning rate and a seed, and where the run is."""

    entrant: Entrant
    question: Question
    rate: float
    seed: int
    place: Path

    @property
    def title(self) -> str:
        """What it is, in short."""
        return f"{self.entrant.name} by {self.question.value}, rate {self.rate:g}, seed {self.seed}"

    @property
    def folder(self) -> RunFolder:
        """The run."""
        return RunFolder(self.place)

    @property
    def outcome(self) -> Outcome | None:
        """What it came to, if it is complete."""
        return read_outcome(self.folder, _outcome)


def _outcome(told: dict[str, Any]) -> Outcome:
    return Outcome(**{**told, "validation": tuple(told["validation"]), "test": tuple(told["test"])})


def trial_of(place: Path, entrant: Entrant, question: Question, rate: float, seed: int) -> Trial:
    """The trial, with the folder of its run."""
    folder = place / "runs" / f"{entrant.folder_name}-{question.value}-{rate:g}-{seed}"
    return Trial(entrant, question, rate, seed, folder)


def choosing(budget: Budget, place: Path) -> tuple[Trial, ...]:
    """The trials by which learning rates are chosen: all of them with the first seed."""
    return tuple(
        trial_of(place, entrant, question, rate, FIRST)
        for question in Question
        for entrant in budget.entrants
        for rate in budget.rates
    )


def chosen(budget: Budget, place: Path, entrant: Entrant, question: Question) -> Trial | None:
    """The trial with the best rate, by the mean over numbers of pairs on validation; None until all are complete.

    Of rates that are equally good, the one that needed fewest steps.
    """
    done = [
        (trial, trial.outcome) for rate in budget.rates for trial in [trial_of(place, entrant, question, rate, FIRST)]
    ]
    known = [(trial, outcome) for trial, outcome in done if outcome is not None]
    if len(known) < len(done):
        return None
    return max(known, key=lambda each: (statistics.fmean(each[1].validation), -each[1].steps))[0]


def repeated(budget: Budget, place: Path) -> tuple[Trial, ...]:
    """The trials with the chosen rates and further seeds, seed by seed, as far as rates are chosen."""
    best = [chosen(budget, place, entrant, question) for question in Question for entrant in budget.entrants]
    return tuple(
        trial_of(place, trial.entrant, trial.question, trial.rate, seed)
        for seed in range(FIRST + 1, FIRST + budget.seeds)
        for trial in best
        if trial is not None
    )


def left(budget: Budget, place: Path) -> int:
    """How many runs are not complete."""
    known = (*choosing(budget, place), *repeated(budget, place))
    return budget.runs - sum(trial.folder.is_complete for trial in known)


def begin(budget: Budget, place: Path) -> None:
    """Make this the folder of the experiment; one of something else, or of another budget, is refused."""
    begin_experiment(EXPERIMENT, budget.to_json(), place)


def recall_all(budget: Budget, place: Path) -> Iterator[Trial]:
    """Do all trials that are not complete and that no other process is working on; each is yielded when it is done."""
    begin(budget, place)
    for stage in (choosing, repeated):
        yield from do_each(stage(budget, place), partial(learn, budget))


def learn(budget: Budget, trial: Trial) -> None:
    """One run, from its newest checkpoint if it has one, until all is answered or the steps are used up."""
    schedule = replace(budget.schedule, seed=trial.seed, learning_rate=trial.rate)
    task = Recall(budget.layout, budget.pairs, trial.question, schedule.batch, budget.evaluated, trial.seed)
    identity = {
        "mixers": described(trial.entrant),
        "question": trial.question.value,
        "rate": trial.rate,
        "seed": trial.seed,
        "budget": budget.to_json(),
    }
    with one_thread(), run_in(trial.place, identity) as folder:
        if folder.is_complete:
            return
        model = fresh(budget, trial)
        train(model, task, schedule, folder)
        finish_trial(folder, _judged(budget, task, model, folder), model.save_pretrained)


def fresh(budget: Budget, trial: Trial) -> MixerBertForMaskedLM:
    """The encoder with the weights that a seed gives."""
    torch.manual_seed(seeds.number("weights", trial.seed))
    sizes, layout = budget.sizes, budget.layout
    model = MixerBertForMaskedLM(
        MixerBertConfig(
            vocab_size=layout.vocabulary,
            hidden_size=sizes.width,
            num_hidden_layers=sizes.layers,
            num_attention_heads=sizes.heads,
            intermediate_size=4 * sizes.width,
            max_position_embeddings=layout.tokens,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            initializer_range=sizes.deviation,
            mixers=trial.entrant.mixers,
            norm="before",
        )
    )
    if budget.start == "neighbours":
        initialize(model)
    return model


def _judged(budget: Budget, task: Recall, model: MixerBertForMaskedLM, folder: RunFolder) -> Outcome:
    model.eval()
    with torch.no_grad():
        test = task.measured(model, budget.judged, "test")
    rows = folder.rows()
    last = next(row for row in reversed(rows) if "seconds" in row)
    measured = next(row for row in reversed(rows) if name_of(budget.pairs[0]) in row)
    return Outcome(
        tuple(measured[name_of(pairs)] for pairs in budget.pairs),
        tuple(test[pairs] for pairs in budget.pairs),
        last["step"],
        last["seconds"],
        sum(parameter.numel() for parameter in model.parameters()),
    )
