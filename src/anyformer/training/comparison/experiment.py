"""One comparison: what is compared, on what, where its runs and results are, and the two kinds of its jobs."""

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from numpy.typing import NDArray

from anyformer.training.comparison.budgets import Budget
from anyformer.training.comparison.entailment import Entailment
from anyformer.training.comparison.entrants import Entrant, ablations_of
from anyformer.training.comparison.jobs import Job
from anyformer.training.run.folder import RunFolder
from anyformer.training.tasks.pretrain import Prepared

FOLDERS = frozenset({"text", "rates", "pretraining", "untrained", "tuning", "locks", "results", "report"})
"""What the folder of a comparison holds; `results` alone is enough for the report and for more seeds."""


@final
@dataclass(frozen=True)
class Experiment:
    """What is compared, on what, and where."""

    budget: Budget
    entrants: tuple[Entrant, ...]
    text: Prepared
    """Its `valid` is for choosing rates and for curves."""
    measured: NDArray[Any]
    """(tokens,) on which all models are measured in the end."""
    entailment: Entailment
    place: Path

    @property
    def ablations(self) -> tuple[Entrant, ...]:
        """Pre-trained as well, from BERT's start."""
        return ablations_of(self.budget, self.entrants)

    def run(self, kind: str, name: str) -> RunFolder:
        """The folder of a run."""
        return RunFolder(self.place / kind / name)

    @property
    def not_asked_for(self) -> tuple[str, ...]:
        """Entrants that have results here and are not compared this time."""
        asked = {one.name for one in (*self.entrants, *self.ablations)}
        names = {
            file.stem.removeprefix("words-").rpartition("-")[0]
            for file in self.result("words").parent.glob("words-*.json")
        }
        return tuple(sorted(names - asked))

    def result(self, name: str) -> Path:
        """The file of a result."""
        return self.place / "results" / f"{name}.json"


@dataclass(frozen=True)
class RunJob(Job):
    """A job that is a run: done when its model is there."""

    experiment: Experiment

    @property
    @abstractmethod
    def folder(self) -> RunFolder:
        """The run."""

    @property
    def is_complete(self) -> bool:
        """Whether it ended."""
        return self.folder.is_complete


@dataclass(frozen=True)
class ResultJob(Job):
    """A job whose end is a file of results."""

    experiment: Experiment

    @property
    def file(self) -> Path:
        """The file, named as the job."""
        return self.experiment.result(self.name)

    @property
    def is_complete(self) -> bool:
        """Whether it was written."""
        return self.file.is_file()


def last(folder: RunFolder, name: str) -> float:
    """The newest measurement of this name."""
    return float([row[name] for row in folder.rows() if name in row][-1])
