"""Masked words: windows of a text, of which some tokens are hidden and to be predicted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from anyformer.arrays import Integers
from anyformer.mixers.bert.language import IGNORED
from anyformer.training.data.tokens import require_sequences
from anyformer.training.run import seeds
from anyformer.training.run.loop import Batch, Task
from anyformer.training.run.recipe import Schedule, Text
from anyformer.training.tasks.examples import AT_ONCE

EVALUATED = 16
"""How many batches are evaluated, always the same ones."""


@dataclass(frozen=True)
class Marks:
    """The ids of the tokens that are not words."""

    start: int
    end: int
    mask: int
    vocabulary: int
    special: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Any) -> "Marks":
        """The marks of a tokenizer."""
        return cls(
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
            tokenizer.mask_token_id,
            len(tokenizer),
            tuple(sorted(tokenizer.all_special_ids)),
        )


@final
@dataclass(frozen=True)
class MaskedWords(Task):
    """Predict hidden words of windows that start anywhere in a text.

    A window is [CLS] words [SEP], or with `following` [CLS] half [SEP] half [SEP], whose second half is in every other
    row from somewhere else. All windows hide the same number of tokens, so the mean over rows is that over tokens.
    """

    train: NDArray[Any]
    valid: NDArray[Any]
    marks: Marks
    text: Text
    schedule: Schedule

    def __post_init__(self) -> None:
        for ids in (self.train, self.valid):
            require_sequences(ids, self.text.tokens)

    def batch(self, step: int) -> Batch:
        """The windows of a step."""
        return self._drawn(self.train, seeds.generator("windows", self.schedule.seed, step))

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Loss and accuracy on hidden words of the text held out; the same ones every time and for every seed."""
        total = {"loss": 0.0, "right": 0.0, "words": 0.0, "follows": 0.0, "rows": 0.0}
        for number in range(EVALUATED):
            batch = self._drawn(self.valid, seeds.generator("evaluation", number))
            for start in range(0, self.schedule.batch, AT_ONCE):
                part = {name: tensor[start : start + AT_ONCE] for name, tensor in batch.items()}
                for name, value in _judged(model, part).items():
                    total[name] += value
        measured = {
            "validation_loss": total["loss"] / total["words"],
            "validation_accuracy": total["right"] / total["words"],
        }
        return {**measured, "following_accuracy": total["follows"] / total["rows"]} if self.text.following else measured

    def _drawn(self, ids: NDArray[Any], random: np.random.Generator) -> Batch:
        rows, marks = self.schedule.batch, self.marks
        if not self.text.following:
            windows = windows_of(ids, random, rows, self.text.tokens - 2)
            framed = _framed(windows, marks)
            return self._hidden(framed, random)
        half = (self.text.tokens - 3) // 2
        first, second = half, self.text.tokens - 3 - half
        windows = windows_of(ids, random, rows, first + second)
        elsewhere = (np.arange(rows) + random.integers(2)) % 2
        windows[elsewhere == 1, first:] = windows_of(ids, random, rows, second)[elsewhere == 1]
        framed = np.concatenate([_framed(windows[:, :first], marks), _framed(windows[:, first:], marks)[:, 1:]], axis=1)
        types = np.broadcast_to(np.arange(self.text.tokens) >= first + 2, framed.shape)
        return {
            **self._hidden(framed, random),
            "token_type_ids": torch.from_numpy(types.astype(np.int64)),
            "next_sentence_label": torch.from_numpy(elsewhere),
        }

    def _hidden(self, framed: Integers, random: np.random.Generator) -> Batch:
        """BERT's way: of the tokens to predict, 80 % are replaced by [MASK], 10 % by any word, 10 % stay."""
        order = random.random(framed.shape)
        order[np.isin(framed, self.marks.special)] = 2.0  # marks come last: never predicted while words remain
        chosen = np.argsort(order, axis=1, kind="stable")[:, : self.text.hidden]
        labels = np.full_like(framed, IGNORED)
        np.put_along_axis(labels, chosen, np.take_along_axis(framed, chosen, axis=1), axis=1)
        how, words = random.random(framed.shape), random.integers(0, self.marks.vocabulary, framed.shape)
        masked = np.where(how < 0.8, self.marks.mask, np.where(how < 0.9, words, framed))
        shown = np.where(labels == IGNORED, framed, masked)
        return {"input_ids": torch.from_numpy(shown), "labels": torch.from_numpy(labels)}


def windows_of(ids: NDArray[Any], random: np.random.Generator, rows: int, length: int) -> Integers:
    """(rows, length) tokens that follow each other in the text."""
    starts = random.integers(0, len(ids) - length + 1, rows)
    return np.stack([ids[start : start + length] for start in starts]).astype(np.int64)


def _framed(windows: Integers, marks: Marks) -> Integers:
    return np.pad(windows, ((0, 0), (1, 1)), constant_values=((0, 0), (marks.start, marks.end)))


def _judged(model: nn.Module, batch: Mapping[str, Tensor]) -> dict[str, float]:
    """Sums over a batch; scores are computed only for the words to predict, so this costs as much as training."""
    device = next(model.parameters()).device
    given = {name: tensor.to(device) for name, tensor in batch.items()}
    labels = given.pop("labels")
    follows = given.pop("next_sentence_label", None)
    outputs = model.bert(**given)
    chosen = labels != IGNORED
    scores, wanted = model.cls.predictions(outputs.last_hidden_state[chosen]), labels[chosen]
    right = {"right": float((scores.argmax(dim=1) == wanted).sum()), "words": float(len(wanted))}
    sums = {"loss": float(cross_entropy(scores.float(), wanted, reduction="sum")), **right}
    if follows is None:
        return sums
    predicted = model.cls.seq_relationship(outputs.pooler_output).argmax(dim=1)
    return {**sums, "follows": float((predicted == follows).sum()), "rows": float(len(follows))}
