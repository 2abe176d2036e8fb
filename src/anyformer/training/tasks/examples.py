"""Encoded examples of different lengths, as batches: which ones a step takes, and how they are padded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol, TypeVar

import torch
from torch import Tensor

from anyformer.arrays import Integers
from anyformer.training.run import seeds
from anyformer.training.run.recipe import Schedule

AT_ONCE = 64
"""How many examples are evaluated at a time."""
_ENCODED_AT_ONCE: Final = 64
"""How many rows are with the tokenizer at a time: it holds what it cut off until the next ones."""
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
    longest = longest_input(config)
    for start in range(0, len(first), _ENCODED_AT_ONCE):
        rows = slice(start, start + _ENCODED_AT_ONCE)
        texts, others = list(first[rows]), None if second is None else list(second[rows])
        if others is not None and tokenizer.is_fast:
            texts, others = _without_what_is_cut(texts, others, tokenizer, longest)
        made = tokenizer(texts, others, truncation=True, max_length=longest, return_token_type_ids=True)
        for ids, types in zip(made["input_ids"], made["token_type_ids"], strict=True):
            yield EncodedTexts(tuple(ids), tuple(min(one, config.type_vocab_size - 1) for one in types))


def _without_what_is_cut(
    first: list[str], second: list[str], tokenizer: Any, longest: int
) -> tuple[list[str], list[str]]:
    """The same pairs, as far as a model of this length can read them.

    Of a pair that is too long a fast tokenizer makes every piece of the one text with every piece of the other: their
    memory grows with the product of the lengths. So long texts are cut before, each one alone.
    """
    for row, (one, other) in enumerate(zip(first, second, strict=True)):
        if len(one) * len(other) > (4 * longest) ** 2:
            first[row], second[row] = _cut_pair(one, other, tokenizer, longest)
    return first, second


def _cut_pair(one: str, other: str, tokenizer: Any, longest: int) -> tuple[str, str]:
    """Both texts without most of what truncation takes from them.

    Truncation looks at which text has more tokens, so the longer one keeps more. Each keeps a multiple of what a model
    reads: a tokenizer may read the end of a text that was cut in another way.
    """
    alone = [tokenizer(text, add_special_tokens=False, verbose=False).encodings[0] for text in (one, other)]
    is_longer = len(alone[0]) > len(alone[1])
    kept = (3 * longest, 2 * longest) if is_longer else (2 * longest, 3 * longest)
    side = tokenizer.truncation_side
    return _cut(one, alone[0], kept[0], side), _cut(other, alone[1], kept[1], side)


def _cut(text: str, encoding: Any, kept: int, side: str) -> str:
    if len(encoding) <= kept:
        return text
    if side == "left":
        return text[encoding.token_to_chars(len(encoding) - kept)[0] :]
    return text[: encoding.token_to_chars(kept - 1)[1]]


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
