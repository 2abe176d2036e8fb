"""What a model says of every row: one value that can be measured, compared with another's, and saved."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax

from anyformer.arrays import Array
from anyformer.atomic import atomic_file
from anyformer.errors import TrainingError
from anyformer.training.data.pairs import Pairs
from anyformer.training.data.tables import Label, Table
from anyformer.training.tasks.examples import AT_ONCE, EncodedTexts, encode_texts, padded

DIGITS: Final = 6
"""Decimals of what is saved: probabilities of single precision differ beyond them from machine to machine."""


@final
@dataclass(frozen=True, eq=False)
class Predictions:
    """A model's answers to the rows of a table, in their order."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    """The classes, in the order of the logits; none where the model predicts a number."""
    logits: NDArray[np.float32]
    """(rows, classes), or (rows, 1) numbers."""
    labels: tuple[Label, ...]
    """What is true, as the data says it: its classes need not be those of the model."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def probabilities(self) -> Array:
        """(rows, classes); (rows, 0) where the model predicts a number."""
        logits = self.logits[:, : len(self.names)].astype(np.float64)
        return softmax(logits, axis=1) if self.names else logits

    @property
    def predicted(self) -> tuple[str | float, ...]:
        """The likeliest class of each row, or its number."""
        if self.names:
            return tuple(self.names[place] for place in self.logits.argmax(axis=1).tolist())
        return tuple(self.logits[:, 0].tolist())

    def digest(self) -> str:
        """The sha256 of ids and answers: equal where two runs say the same of the same rows.

        Numbers count to three decimals, and probabilities not at all, so that rounding hardly ever shows.
        """
        return digest_of_answers(
            [one if isinstance(one, str) else f"{round(one, 3) + 0.0:.3f}" for one in self.predicted], self.ids
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a JSON object."""
        for id_, label, said, shares in zip(self.ids, self.labels, self.predicted, self.probabilities, strict=True):
            told = said if isinstance(said, str) else round(said, DIGITS)
            row = {"id": id_, "label": label, "predicted": told}
            named = {name: round(float(share), DIGITS) for name, share in zip(self.names, shares, strict=True)}
            yield {**row, "probabilities": named} if self.names else row


def predict(model: Any, tokenizer: Any, texts: Pairs | Table, at_once: int = AT_ONCE) -> Predictions:
    """What a model for classes, or for numbers, says of every row.

    Rows are taken by length, so that little is padded; how many are taken at once changes the results by rounding only.

    Args:
        model: one for sequence classification, as `transformers` has them.
        tokenizer: its tokenizer; texts that are too long lose the end of their longer part.
        texts: labelled pairs, or a table whose rows may lack labels.
        at_once: rows a forward pass.
    """
    table = Table.of(texts) if isinstance(texts, Pairs) else texts
    if not len(table):
        raise TrainingError("there must be a row to predict for; got none. Give more rows.")
    rows = list(encode_texts(table.first, table.second, tokenizer, model.config))
    order = sorted(range(len(rows)), key=lambda place: -len(rows[place].input_ids))  # what needs most memory, first
    logits = np.empty((len(rows), model.config.num_labels), np.float32)
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            for start in range(0, len(order), at_once):
                places = order[start : start + at_once]
                logits[places] = _logits(model, [rows[place] for place in places], tokenizer)
    finally:
        model.train(was_training)
    if not np.isfinite(logits).all():
        raise TrainingError("what a model predicts must be finite; it is not. Its training has failed: train it again.")
    return Predictions(table.ids, class_names(model), logits, table.labels)


def digest_of_answers(said: Sequence[str], ids: Sequence[str] | None = None) -> str:
    """The sha256 of ids and answers; rows that have no ids are counted from 0."""
    return hashlib.sha256(json.dumps([ids or [*map(str, range(len(said)))], said]).encode()).hexdigest()


def save_predictions(predictions: Predictions, place: Path) -> str:
    """Write one JSON object a row, in one step; the sha256 of the file is returned."""
    return save_rows(predictions.rows(), place)


def save_rows(rows: Iterable[Mapping[str, Any]], place: Path) -> str:
    """Write JSON objects, one a line; the sha256 of the file is returned."""
    lines = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows).encode()
    place.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(place) as file:
        file.write(lines)
    return hashlib.sha256(lines).hexdigest()


def class_names(model: Any) -> tuple[str, ...]:
    """The classes of a model in lower case, as labels are read; none if it predicts a number."""
    config = model.config
    if config.problem_type == "multi_label_classification":
        raise TrainingError("a model must choose one class a text; this one has several labels a text. Give another.")
    if config.num_labels == 1:
        return ()
    names = tuple(str(config.id2label[place]).strip().lower() for place in range(config.num_labels))
    if len(set(names)) < len(names):
        raise TrainingError(f"a model's classes must differ in more than case; got {', '.join(names)}. Rename one.")
    return names


def _logits(model: Any, rows: Sequence[EncodedTexts], tokenizer: Any) -> NDArray[np.float32]:
    given = padded(rows, tokenizer.pad_token_id)
    outputs = model(**{name: tensor.to(model.device) for name, tensor in given.items()})
    return np.asarray(outputs.logits.float().cpu())
