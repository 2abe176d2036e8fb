"""The runs of the copying task: one for each pattern, depth and seed, each in its own folder.

Processes share them. Runs use one thread, so that their numbers do not depend on the number of cores.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file

from anyformer.mixers import PatternAttention
from anyformer.training.copying.budgets import Budget, Entrant
from anyformer.training.copying.model import Copier
from anyformer.training.copying.task import Copying
from anyformer.training.run import seeds
from anyformer.training.run.folder import RunFolder
from anyformer.training.run.loop import run_in, train
from anyformer.training.run.trials import begin_experiment, do_each, finish_trial, one_thread, read_outcome

EXPERIMENT = "copying"


@dataclass(frozen=True)
class Outcome:
    """What a run came to: the shares of symbols and of sequences copied, on sequences that were not used before."""

    symbols: float
    sequences: float
    steps: int
    """As many as were needed until all sequences measured were copied, or all of the budget."""
    seconds: float


@dataclass(frozen=True)
class Trial:
    """A pattern at a depth with a seed, and where its run is."""

    entrant: Entrant
    layers: int
    seed: int
    place: Path

    @property
    def folder(self) -> RunFolder:
        """The run."""
        return RunFolder(self.place)

    @property
    def outcome(self) -> Outcome | None:
        """What it came to, if it is complete."""
        return read_outcome(self.folder, lambda told: Outcome(**told))


def trials_of(budget: Budget, place: Path) -> tuple[Trial, ...]:
    """All trials, seed by seed: after an interruption the patterns' numbers of trials differ by at most one."""
    return tuple(
        Trial(entrant, layers, seed, place / "runs" / f"{entrant.name}-{layers}-{seed}")
        for seed in range(budget.seeds)
        for entrant in budget.entrants
        for layers in budget.depths
    )


def begin(budget: Budget, place: Path) -> None:
    """Make this the folder of the experiment; one of something else, or of another budget, is refused."""
    begin_experiment(EXPERIMENT, budget.to_json(), place)


def copy_all(budget: Budget, place: Path) -> Iterator[Trial]:
    """Do all trials that are not complete and that no other process is working on; each is yielded when it is done."""
    begin(budget, place)
    yield from do_each(trials_of(budget, place), partial(learn, budget))


def learn(budget: Budget, trial: Trial) -> None:
    """One run, from its newest checkpoint if it has one, until all is copied or the steps are used up."""
    schedule = replace(budget.schedule, seed=trial.seed)
    task = Copying(budget.alphabet, schedule.batch, budget.evaluated, trial.seed)
    identity = {"pattern": trial.entrant.name, "layers": trial.layers, "seed": trial.seed, "budget": budget.to_json()}
    with one_thread(), run_in(trial.place, identity) as folder:
        if folder.is_complete:
            return
        model = fresh(budget, trial)
        train(model, task, schedule, folder)
        finish_trial(
            folder,
            _judged(budget, task, model, folder),
            lambda part: save_file(model.state_dict(), part / "model.safetensors"),
        )


def fresh(budget: Budget, trial: Trial) -> Copier:
    """The model with the weights that a seed gives; they are the same for all patterns of a depth."""
    torch.manual_seed(seeds.number("weights", trial.seed))
    mixer = PatternAttention(budget.heads, trial.entrant.family)
    return Copier(budget.alphabet, mixer, trial.layers, budget.width)


def _judged(budget: Budget, task: Copying, model: Copier, folder: RunFolder) -> Outcome:
    model.eval()
    with torch.no_grad():
        measured = task.measured(model, budget.judged, "at the end")
    last = next(row for row in reversed(folder.rows()) if "seconds" in row)
    return Outcome(**measured, steps=last["step"], seconds=last["seconds"])
