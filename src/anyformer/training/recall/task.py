"""Associative recall by many queries, for encoders that see both ways.

This is the MQAR of Arora et al., 2023, "Zoology" (https://arxiv.org/abs/2312.04927), for encoders. The first half of a
sequence holds pairs, a key and its value side by side, at random places among filler. The second half holds queries:
the same keys in a random order, each `half` tokens after the value of some pair. Keys, values, places and order are
drawn anew for every sequence. Two questions are asked of the same sequences:

- by content: the value of the pair whose key stands at the query. Its place tells nothing about it;
- by place: the value that stands `half` tokens before the query. Its key tells nothing about it.

So what a mixer can do for one question and not for the other is about how it mixes and not about what it is shown.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from anyformer.errors import TrainingError
from anyformer.mixers.bert.language import IGNORED
from anyformer.training.run import seeds
from anyformer.training.run.loop import Batch, Task
from anyformer.training.run.ranges import at_least_one

FILLER = 0
"""The token between pairs and between queries."""


class Question(enum.Enum):
    """What is asked at a query."""

    CONTENT = "content"
    """The value of the key that stands there."""
    PLACE = "place"
    """The value that stands half a sequence before."""


@dataclass(frozen=True)
class Layout:
    """What sequences are made of: two halves of so many tokens, keys of so many kinds, values of so many others."""

    half: int
    keys: int
    values: int

    def __post_init__(self) -> None:
        for name in ("half", "keys", "values"):
            at_least_one(name, getattr(self, name))

    @property
    def tokens(self) -> int:
        """The whole sequence."""
        return 2 * self.half

    @property
    def vocabulary(self) -> int:
        """The filler, then the keys, then the values."""
        return 1 + self.keys + self.values

    def require_room(self, pairs: int) -> None:
        """Refuse more pairs than a half, the keys or the values have room for.

        Raises:
            TrainingError: if there are more, or fewer than two: then nothing has to be found.
        """
        most = min(self.half // 2, self.keys, self.values)
        if not 2 <= pairs <= most:
            raise TrainingError(
                f"pairs must be from 2 to {most}, for which {self.half} tokens, {self.keys} keys and {self.values}"
                f" values have room; got {pairs}. Ask for fewer, or for a larger layout."
            )


def draw(layout: Layout, pairs: int, count: int, question: Question, random: np.random.Generator) -> Batch:
    """So many sequences and, at their queries, the values that are asked for: both (count, tokens)."""
    layout.require_room(pairs)
    # Pairs that do not overlap: distinct places in a half that is shorter by a token a pair, moved apart again.
    starts = np.sort(_some(layout.half - pairs, pairs, count, random)) + np.arange(pairs)
    keys = 1 + _some(layout.keys, pairs, count, random)
    values = 1 + layout.keys + _some(layout.values, pairs, count, random)
    order = _some(pairs, pairs, count, random)
    queries = starts + 1 + layout.half
    tokens = np.full((count, layout.tokens), FILLER)
    labels = np.full((count, layout.tokens), IGNORED)
    for places, shown in ((starts, keys), (starts + 1, values), (queries, np.take_along_axis(keys, order, axis=1))):
        np.put_along_axis(tokens, places, shown, axis=1)
    asked = np.take_along_axis(values, order, axis=1) if question is Question.CONTENT else values
    np.put_along_axis(labels, queries, asked, axis=1)
    return {"input_ids": torch.from_numpy(tokens), "labels": torch.from_numpy(labels)}


def _some(kinds: int, taken: int, count: int, random: np.random.Generator) -> np.ndarray:
    """(count, taken): for each sequence so many different numbers below `kinds`, in a random order."""
    return random.permuted(np.tile(np.arange(kinds), (count, 1)), axis=1)[:, :taken]


@final
@dataclass(frozen=True)
class Recall(Task):
    """Predict the values asked for; steps take the numbers of pairs in turn, so a model learns all of them."""

    layout: Layout
    pairs: tuple[int, ...]
    question: Question
    batch_size: int
    evaluated: int
    """Sequences measured while training, of each number of pairs, the same for all runs."""
    seed: int

    def batch(self, step: int) -> Batch:
        """The sequences of a step, all with the same number of pairs."""
        pairs = self.pairs[step % len(self.pairs)]
        random = seeds.generator("recall", self.seed, step)
        return draw(self.layout, pairs, self.batch_size, self.question, random)

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """The shares of queries answered, by number of pairs, on validation sequences."""
        return {name_of(pairs): share for pairs, share in self.measured(model, self.evaluated, "validation").items()}

    def is_learned(self, measured: Mapping[str, float]) -> bool:
        """Whether every query measured was answered."""
        return all(measured.get(name_of(pairs)) == 1.0 for pairs in self.pairs)

    def measured(self, model: nn.Module, count: int, purpose: str) -> dict[int, float]:
        """For each number of pairs, the share of queries answered in so many sequences drawn for a purpose."""
        return {pairs: answered(model, self.sequences(pairs, count, purpose)) for pairs in self.pairs}

    def sequences(self, pairs: int, count: int, purpose: str) -> Batch:
        """So many sequences drawn for a purpose, the same for all runs and for both questions."""
        return draw(self.layout, pairs, count, self.question, seeds.generator("recall", purpose, pairs))


def name_of(pairs: int) -> str:
    """What the share of queries answered is called among the measurements of a run.

    >>> name_of(8)
    'pairs_8'
    """
    return f"pairs_{pairs}"


AT_ONCE = 64
"""How many sequences are evaluated at a time."""


def answered(model: nn.Module, batch: Batch) -> float:
    """The share of queries at which the largest score of all tokens is the right one's."""
    right = asked = 0
    for tokens, labels in zip(batch["input_ids"].split(AT_ONCE), batch["labels"].split(AT_ONCE), strict=True):
        chosen = labels != IGNORED
        guesses: Tensor = model(input_ids=tokens).logits.argmax(dim=2)
        right += int((guesses[chosen] == labels[chosen]).sum())
        asked += int(chosen.sum())
    return right / asked


def require_pairs(layout: Layout, pairs: Sequence[int]) -> None:
    """Refuse numbers of pairs for which there is no room, and none at all."""
    if not pairs:
        raise TrainingError("pairs must name at least one number of pairs; got none.")
    for each in pairs:
        layout.require_room(each)
