"""One comparison: what is compared, on what, and where its runs and results are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from numpy.typing import NDArray

from anyformer.training.comparison.budgets import Budget
from anyformer.training.comparison.entailment import Entailment
from anyformer.training.comparison.entrants import Entrant, ablations_of
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

    def result(self, name: str) -> Path:
        """The file of a result."""
        return self.place / "results" / f"{name}.json"


def last(folder: RunFolder, name: str) -> float:
    """The newest measurement of this name."""
    return float([row[name] for row in folder.rows() if name in row][-1])
