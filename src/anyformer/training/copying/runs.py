"""The runs of the copying task: one for each pattern, depth and seed, each in its own folder.

You can start them several times on one folder, on one machine or on many that share a disk: each process takes the runs
that no other process is working on. Runs use one thread, so that their numbers do not depend on the number of cores.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from anyformer import strict_json
from anyformer.atomic import atomic_folder
from anyformer.errors import RunInUse, TrainingError, words_of
from anyformer.mixers import PatternAttention
from anyformer.training.copying.budgets import Budget, Entrant
from anyformer.training.copying.model import Copier
from anyformer.training.copying.task import Copying
from anyformer.training.run import seeds
from anyformer.training.run.folder import RunFolder, require_only
from anyformer.training.run.loop import run_in, train
from anyformer.training.run.writing import writing

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
        file = self.folder.model / "outcome.json"
        if not self.folder.is_complete:
            return None
        try:
            return Outcome(**strict_json.read(file))
        except (OSError, ValueError, TypeError) as error:
            raise TrainingError(
                f"{file} must hold the outcome of a run; it is damaged: {words_of(error)}. Remove {self.place} to"
                " repeat the run."
            ) from error


def trials_of(budget: Budget, place: Path) -> tuple[Trial, ...]:
    """All trials, seed by seed: after an interruption the patterns' numbers of trials differ by at most one."""
    return tuple(
        Trial(entrant, layers, seed, place / "runs" / f"{entrant.name}-{layers}-{seed}")
        for seed in range(budget.seeds)
        for entrant in budget.entrants
        for layers in budget.depths
    )


def begin(budget: Budget, place: Path) -> None:
    """Make this the folder of the experiment, or check that it is; nothing else is touched before.

    Raises:
        TrainingError: if it belongs to something else, or to a copying task of another budget.
    """
    folder = RunFolder(place)
    if folder.identity_file.is_file():
        require_only(place, {folder.identity_file.name, "runs", "report"})
    folder.begin({"experiment": EXPERIMENT, "budget": budget.to_json()})


def copy_all(budget: Budget, place: Path) -> Iterator[Trial]:
    """Do all trials that are not complete and that no other process is working on; each is yielded when it is done."""
    begin(budget, place)
    for trial in trials_of(budget, place):
        if trial.folder.is_complete:
            continue
        try:
            learn(budget, trial)
        except RunInUse:
            continue
        yield trial


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
        _finish(folder, model, _judged(budget, task, model, folder))


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


def _finish(folder: RunFolder, model: Copier, outcome: Outcome) -> None:
    """Write weights and outcome in one step; their presence says that the run is complete."""
    with writing("the model", folder.model), atomic_folder(folder.model) as part:
        save_file(model.state_dict(), part / "model.safetensors")
        (part / "outcome.json").write_text(json.dumps(asdict(outcome)) + "\n", "utf-8")
    shutil.rmtree(folder.checkpoints, ignore_errors=True)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread: models are small, and sums of several threads would be rounded otherwise."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
