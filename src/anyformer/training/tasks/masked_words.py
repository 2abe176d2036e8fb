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

ASKED = ("labels", "next_sentence_label")
"""What a batch asks for; the rest is what a model is given."""
EVALUATED = 512
"""How many windows are evaluated, always the same ones, whatever the size of a batch."""


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
        return self._drawn(self.train, self.schedule.batch, seeds.generator("windows", self.schedule.seed, step))

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Loss and accuracy on hidden words of the text held out; the same ones every time and for every seed."""
        total = {"loss": 0.0, "right": 0.0, "words": 0.0, "follows": 0.0, "rows": 0.0}
        for number in range(EVALUATED // AT_ONCE):
            batch = self._drawn(self.valid, AT_ONCE, seeds.generator("evaluation", number))
            for name, value in _judged(model, batch).items():
                total[name] += value
        measured = {
            "validation_loss": total["loss"] / total["words"],
            "validation_accuracy": total["right"] / total["words"],
        }
        return {**measured, "following_accuracy": total["follows"] / total["rows"]} if self.text.following else measured

    def _drawn(self, ids: NDArray[Any], rows: int, random: np.random.Generator) -> Batch:
        first, second = halves(self.text)
        windows = _windows(ids, random, rows, first + second)
        if not self.text.following:
            return hidden(framed(windows, self.marks, self.text), self.marks, self.text, random)
        elsewhere = (np.arange(rows) + random.integers(2)) % 2
        windows[elsewhere == 1, first:] = _windows(ids, random, rows, second)[elsewhere == 1]
        batch = hidden(framed(windows, self.marks, self.text), self.marks, self.text, random)
        return {**batch, "next_sentence_label": torch.from_numpy(elsewhere)}


def halves(text: Text) -> tuple[int, int]:
    """How many words of a window come before and after the [SEP] in its middle; without one, all before."""
    if not text.following:
        return text.tokens - 2, 0
    first = (text.tokens - 3) // 2
    return first, text.tokens - 3 - first


def framed(windows: Integers, marks: Marks, text: Text) -> Batch:
    """Windows of words (rows, words) with their marks, as a model takes them."""
    first, second = halves(text)
    if not second:
        return {"input_ids": torch.from_numpy(_marked(windows, marks))}
    ids = np.concatenate([_marked(windows[:, :first], marks), _marked(windows[:, first:], marks)[:, 1:]], axis=1)
    types = np.broadcast_to(np.arange(text.tokens) >= first + 2, ids.shape)
    return {"input_ids": torch.from_numpy(ids), "token_type_ids": torch.from_numpy(types.astype(np.int64))}


def hidden(batch: Batch, marks: Marks, text: Text, random: np.random.Generator) -> Batch:
    """BERT's way: of the tokens to predict, 80 % are replaced by [MASK], 10 % by any word, 10 % stay."""
    ids = batch["input_ids"].numpy()
    order = random.random(ids.shape)
    order[np.isin(ids, marks.special)] = 2.0  # marks come last: never predicted while words remain
    chosen = np.argsort(order, axis=1, kind="stable")[:, : text.hidden]
    labels = np.full_like(ids, IGNORED)
    np.put_along_axis(labels, chosen, np.take_along_axis(ids, chosen, axis=1), axis=1)
    how, words = random.random(ids.shape), random.integers(0, marks.vocabulary, ids.shape)
    masked = np.where(how < 0.8, marks.mask, np.where(how < 0.9, words, ids))
    shown = np.where(labels == IGNORED, ids, masked)
    return {**batch, "input_ids": torch.from_numpy(shown), "labels": torch.from_numpy(labels)}


def _windows(ids: NDArray[Any], random: np.random.Generator, rows: int, length: int) -> Integers:
    """(rows, length) tokens that follow each other in the text."""
    starts = random.integers(0, len(ids) - length + 1, rows)
    return np.stack([ids[start : start + length] for start in starts]).astype(np.int64)


def _marked(windows: Integers, marks: Marks) -> Integers:
    return np.pad(windows, ((0, 0), (1, 1)), constant_values=((0, 0), (marks.start, marks.end)))


def judged_words(model: Any, batch: Mapping[str, Tensor]) -> tuple[Any, Tensor, Tensor]:
    """The model's outputs, and the loss and rightness of each word to predict (rows, hidden).

    Scores are computed only for the words to predict, so this costs as much as training.
    """
    device = next(model.parameters()).device
    given = {name: tensor.to(device) for name, tensor in batch.items() if name not in ASKED}
    labels = batch["labels"].to(device)
    outputs, chosen = model.bert(**given), labels != IGNORED
    scores, wanted = model.cls.predictions(outputs.last_hidden_state[chosen]), labels[chosen]
    losses, right = cross_entropy(scores.float(), wanted, reduction="none"), scores.argmax(dim=1) == wanted
    return outputs, losses.reshape(len(labels), -1), right.reshape(len(labels), -1)


def _judged(model: Any, batch: Mapping[str, Tensor]) -> dict[str, float]:
    """Sums over a batch."""
    outputs, losses, right = judged_words(model, batch)
    sums = {"loss": float(losses.sum()), "right": float(right.sum()), "words": float(losses.numel())}
    if "next_sentence_label" not in batch:
        return sums
    predicted = model.cls.seq_relationship(outputs.pooler_output).argmax(dim=1)
    follows = batch["next_sentence_label"].to(predicted.device)
    return {**sums, "follows": float((predicted == follows).sum()), "rows": float(len(follows))}
