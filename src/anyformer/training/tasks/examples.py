"""Encoded examples of different lengths, as batches: which ones a step takes, and how they are padded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from anyformer.arrays import Integers
from anyformer.training.run import seeds
from anyformer.training.run.recipe import Schedule

AT_ONCE = 64
"""How many examples are evaluated at a time."""
TOGETHER = 16
"""At most so many steps are sorted by length: more of them would save more padding, and mix batches less."""


class Encoded(Protocol):
    """Something a tokenizer has encoded: its tokens, and which of two texts each belongs to."""

    @property
    def input_ids(self) -> Any:
        """(tokens,)."""

    @property
    def token_type_ids(self) -> Any:
        """(tokens,), 0 or 1."""


Some = TypeVar("Some", bound=Encoded)


@dataclass(frozen=True)
class EncodedTexts:
    """A text or a pair of texts as a model reads it."""

    input_ids: tuple[int, ...]
    token_type_ids: tuple[int, ...]


def encode_texts(
    first: Sequence[str], second: Sequence[str] | None, tokenizer: Any, config: Any
) -> Iterator[EncodedTexts]:
    """Texts, or pairs of texts, for a model with this config; those that are too long lose the end of the longer one.

    RoBERTa tells the texts of a pair apart by the marks alone, and has one type of tokens.
    """
    others = None if second is None else list(second)
    made = tokenizer(list(first), others, truncation=True, max_length=longest_input(config), return_token_type_ids=True)
    for ids, types in zip(made["input_ids"], made["token_type_ids"], strict=True):
        yield EncodedTexts(tuple(ids), tuple(min(one, config.type_vocab_size - 1) for one in types))


def longest_input(config: Any) -> int:
    """How many tokens a model takes, one of ours or of `transformers`, whose RoBERTa counts them from its padding."""
    if hasattr(config, "longest_input"):
        return int(config.longest_input)
    skipped = config.pad_token_id + 1 if config.model_type == "roberta" else 0
    return int(config.max_position_embeddings - skipped)


def rows_of_step(count: int, batch: int, seed: int, step: int) -> list[int]:
    """The examples of a step: each epoch has its own order, and a batch may reach into the next epoch.

    >>> sorted(rows_of_step(count=6, batch=3, seed=1, step=0) + rows_of_step(count=6, batch=3, seed=1, step=1))
    [0, 1, 2, 3, 4, 5]
    """
    places = range(step * batch, (step + 1) * batch)
    return [int(_order(count, seed, place // count)[place % count]) for place in places]


def rows_of_similar_length(examples: Sequence[Encoded], schedule: Schedule, step: int) -> list[int]:
    """The examples of a step, of about equal length, so that little is padded.

    Some steps together have the examples that `rows_of_step` gives them, shared among them by length and in a random
    order. So every epoch still has every example once. With few examples, steps of similar lengths would be steps of
    the same few examples: at most an eighth of an epoch is sorted at a time.
    """
    batch, together = schedule.batch, max(1, min(TOGETHER, len(examples) // (8 * schedule.batch)))
    first = step - step % together
    count = min(together, schedule.steps - first)
    steps = range(first, first + count)
    rows = [row for one in steps for row in rows_of_step(len(examples), batch, schedule.seed, one)]
    rows.sort(key=lambda row: len(examples[row].input_ids))  # those of one length stay in their random order
    place = int(seeds.generator("lengths", schedule.seed, first).permutation(count)[step - first])
    return rows[place * batch : (place + 1) * batch]


@lru_cache(maxsize=4)
def _order(count: int, seed: int, epoch: int) -> Integers:
    return seeds.generator("order", seed, epoch).permutation(count)


def padded(examples: Sequence[Encoded], padding: int) -> dict[str, Tensor]:
    """Input for a model, as long as the longest example."""
    longest = max(len(example.input_ids) for example in examples)
    return {
        "input_ids": _filled([example.input_ids for example in examples], longest, padding),
        "token_type_ids": _filled([example.token_type_ids for example in examples], longest, 0),
        "attention_mask": _filled([(1,) * len(example.input_ids) for example in examples], longest, 0),
    }


def _filled(rows: Sequence[Sequence[int]], longest: int, filler: int) -> Tensor:
    return torch.tensor([[*row, *(filler,) * (longest - len(row))] for row in rows])


def outputs_of(model: Any, examples: Sequence[Some], padding: int) -> Iterator[tuple[Sequence[Some], Any]]:
    """A model's outputs on all examples, some at a time and in their order."""
    for start in range(0, len(examples), AT_ONCE):
        part = examples[start : start + AT_ONCE]
        given = padded(part, padding)
        yield part, model(**{name: tensor.to(model.device) for name, tensor in given.items()})
