"""Experiments of many short runs, each in a folder of its own, which any number of processes share.

You can start such an experiment several times on one folder, on one machine or on many that share a disk: each process
takes the runs that no other process is working on.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from anyformer import strict_json
from anyformer.atomic import atomic_folder
from anyformer.errors import RunInUse, TrainingError, words_of
from anyformer.saved_folders import quiet
from anyformer.training.run.folder import RunFolder, require_only
from anyformer.training.run.writing import writing


class _Trial(Protocol):
    @property
    def folder(self) -> RunFolder: ...


Some = TypeVar("Some", bound=_Trial)
Outcome = TypeVar("Outcome")


def begin_experiment(name: str, budget: Mapping[str, Any], place: Path) -> None:
    """Make this the folder of the experiment, or check that it is; nothing else is touched before.

    Raises:
        TrainingError: if it belongs to something else, or to this experiment with another budget.
    """
    folder = RunFolder(place)
    if folder.identity_file.is_file():
        require_only(place, {folder.identity_file.name, "runs", "report"})
    folder.begin({"experiment": name, "budget": budget})


def do_each(trials: Iterable[Some], learn: Callable[[Some], object]) -> Iterator[Some]:
    """Do all trials that are not complete and that no other process is working on; each is yielded when it is done."""
    for trial in trials:
        if trial.folder.is_complete:
            continue
        try:
            learn(trial)
        except RunInUse:
            continue
        yield trial


def read_outcome(folder: RunFolder, read: Callable[[Any], Outcome]) -> Outcome | None:
    """What a trial came to, read from its JSON; None if it is not complete."""
    file = folder.model / "outcome.json"
    if not folder.is_complete:
        return None
    try:
        return read(strict_json.read(file))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise TrainingError(
            f"{file} must hold the outcome of a run; it is damaged: {words_of(error)}. Remove {folder.place} to repeat"
            " the run."
        ) from error


def finish_trial(folder: RunFolder, outcome: Any, save: Callable[[Path], object]) -> None:
    """Write model and outcome, a dataclass, in one step; their presence says that the trial is complete."""
    with writing("the model", folder.model), quiet(), atomic_folder(folder.model) as part:
        save(part)
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
