"""Results as files: each says all that the report needs, so the runs behind it may be deleted."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, final

from anyformer import strict_json
from anyformer.atomic import write_text
from anyformer.errors import TrainingError, words_of
from anyformer.training.evaluation.words import WordScores
from anyformer.training.run.writing import writing


@final
@dataclass(frozen=True, eq=False)
class WordsResult:
    """What a pre-training came to."""

    recipe: dict[str, Any]
    rates: dict[str, float]
    """The loss on held-out words after a trial of each learning rate; empty where there was one rate only."""
    parameters: int
    curve: tuple[tuple[int, float], ...]
    """Steps, and the loss on held-out words then."""
    scores: WordScores
    """Of all windows of the text that is measured in the end."""

    @property
    def rate(self) -> float:
        """The learning rate."""
        return float(self.recipe["schedule"]["learning_rate"])

    def save(self, file: Path) -> None:
        """Write it in one step."""
        _save(
            file,
            recipe=self.recipe,
            rates=self.rates,
            parameters=self.parameters,
            curve=[list(point) for point in self.curve],
            windows=self.scores.to_json(),
        )

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read it back."""

        def read(told: dict[str, Any]) -> Self:
            curve = tuple((step, loss) for step, loss in told["curve"])
            scores = WordScores.from_json(told["windows"])
            return cls(told["recipe"], told["rates"], told["parameters"], curve, scores)

        return _load(file, read)


@final
@dataclass(frozen=True)
class TestResult:
    """What a fine-tuned model says of the test set, and how it was chosen."""

    test_set: str
    """The digest of the test set."""
    rates: dict[str, float]
    """The accuracy on pairs for validation after fine-tuning with each learning rate that was tried."""
    rate: float
    predicted: tuple[str, ...]
    """The class of each pair."""
    digest: str
    """Of the pairs' numbers and the predictions, by `Predictions.digest`."""

    def save(self, file: Path) -> None:
        """Write it in one step."""
        _save(
            file,
            test_set=self.test_set,
            rates=self.rates,
            rate=self.rate,
            digest=self.digest,
            predicted=list(self.predicted),
        )

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read it back."""

        def read(told: dict[str, Any]) -> Self:
            return cls(told["test_set"], told["rates"], told["rate"], tuple(told["predicted"]), told["digest"])

        return _load(file, read)


def _save(file: Path, **told: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with writing("a result", file):
        write_text(file, json.dumps(told) + "\n")


def _load(file: Path, read: Any) -> Any:
    try:
        return read(strict_json.read(file))
    except (ValueError, KeyError, TypeError) as error:
        raise TrainingError(
            f"{file} must hold a result as it was written; it is damaged: {words_of(error)}. Delete it to have it"
            " made again."
        ) from error
