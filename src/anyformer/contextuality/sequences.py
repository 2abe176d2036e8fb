"""Sequences as users give them: texts, token numbers or vectors; in here all of them are token numbers.

A vector sequence's tokens are its different columns. So "the same token" means the same word piece in a text, and the
same bits in a sequence of vectors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Array, Integers
from anyformer.contextuality.places import Places, different, places_of
from anyformer.errors import ContextualityError
from anyformer.targets.target import Symmetry

Pieces = Callable[[int], list[str]]
"""The tokens of a sequence, by its number, as text to be read one after the other."""


@dataclass(frozen=True, eq=False)
class Sequences:
    """Token numbers, what the model is given for them, and how they are shown."""

    rows: tuple[Integers, ...]
    pieces: Pieces
    columns: Array | None = None
    """The vector of each token number, for models that take vectors."""
    special: frozenset[int] = frozenset()
    """Tokens that a tokenizer adds to every sequence."""

    @property
    def places(self) -> Places:
        """Every position of every sequence."""
        return places_of(self.rows)

    def inputs(self, rows: Integers) -> NDArray[Any]:
        """What the model takes for (batch, tokens) numbers."""
        return rows if self.columns is None else self.columns[rows]

    def different(self, symmetry: Symmetry) -> "Sequences":
        """Each context once."""
        kept = different(self.rows, symmetry)
        return replace(self, rows=tuple(self.rows[k] for k in kept), pieces=lambda number: self.pieces(kept[number]))


def as_sequences(given: Any, tokenizer: Any | None, most_tokens: int) -> Sequences:
    """Texts (with a tokenizer), lists of token numbers, or vectors (count, tokens, width).

    Raises:
        ContextualityError: if they are none of these.
    """
    if isinstance(given, Sequences):
        return given
    if isinstance(given, str):
        raise ContextualityError("sequences must be a list of texts; got one text. Split it, such as by its lines.")
    items = list(given)
    if not items:
        raise ContextualityError("there must be sequences to compare; got none. Give texts, token numbers or vectors.")
    if all(isinstance(item, str) for item in items):
        return _from_texts(items, tokenizer, most_tokens)
    try:
        rows = [np.asarray(item.tolist() if hasattr(item, "tolist") else item) for item in items]
    except (TypeError, ValueError) as error:
        raise ContextualityError(f"sequences must be arrays; got {error}. Give each as a list of numbers.") from error
    if all(row.ndim == 1 and (row.dtype.kind in "iu" or not row.size) for row in rows):
        named = _names(tokenizer)
        numbers = tuple(row.astype(np.int64) for row in rows)
        return Sequences(numbers, lambda number: [named(token) for token in numbers[number].tolist()])
    if all(row.ndim == 2 and row.dtype.kind in "iuf" for row in rows) and len({row.shape[1] for row in rows}) == 1:
        return _from_vectors([row.astype(np.float64) for row in rows])
    raise ContextualityError(
        "sequences must all be texts, all lists of whole numbers, or all arrays (tokens, width) of one width; got "
        f"{', '.join(sorted({f'{row.ndim} axes of {row.dtype}' for row in rows}))}."
    )


def _names(tokenizer: Any | None) -> Callable[[int], str]:
    if tokenizer is None:
        return lambda token: f"{token} "
    return lambda token: f"{tokenizer.convert_ids_to_tokens(token)} "


def _from_texts(texts: Sequence[str], tokenizer: Any | None, most_tokens: int) -> Sequences:
    if tokenizer is None:
        raise ContextualityError("texts need a tokenizer, and the model has none. Pass one, or give token numbers.")
    coded = tokenizer(list(texts), truncation=True, max_length=most_tokens)["input_ids"]
    rows = tuple(np.asarray(row, dtype=np.int64) for row in coded)
    special = frozenset(int(token) for token in tokenizer.all_special_ids)
    named = _names(tokenizer)

    def pieces(number: int) -> list[str]:
        if not tokenizer.is_fast:
            return [named(token) for token in rows[number].tolist()]
        spans = tokenizer(texts[number], truncation=True, max_length=most_tokens, return_offsets_mapping=True)
        return _cut(texts[number], rows[number].tolist(), spans["offset_mapping"], named)

    return Sequences(rows, pieces, special=special)


def _cut(text: str, row: Sequence[int], spans: Sequence[tuple[int, int]], named: Callable[[int], str]) -> list[str]:
    """The text cut at its tokens, each with the spaces after it; what stands in no text has its name."""
    real = [k for k, (start, end) in enumerate(spans) if end > start]
    after = {k: spans[following][0] for k, following in pairwise(real)}
    return [
        text[spans[k][0] : after.get(k, spans[k][1])] if spans[k][1] > spans[k][0] else named(token)
        for k, token in enumerate(row)
    ]


def _from_vectors(rows: list[Array]) -> Sequences:
    every = np.concatenate(rows)
    if not np.isfinite(every).all():
        raise ContextualityError("vectors must be finite; got others among the sequences. Give finite numbers.")
    columns, numbers = np.unique(every, axis=0, return_inverse=True)
    return from_columns(columns, np.split(numbers.reshape(-1), np.cumsum([len(row) for row in rows])[:-1]))


def from_columns(columns: Array, rows: Sequence[Integers]) -> Sequences:
    """Sequences of vectors, by the numbers of their columns.

    >>> from_columns(np.array([[0.25], [0.5]]), [np.array([1, 0])]).pieces(0)
    ['0.5 ', '0.25 ']
    """
    shown = [_shown(column) for column in columns.tolist()]
    numbers = tuple(np.asarray(row, dtype=np.int64) for row in rows)
    return Sequences(numbers, lambda number: [shown[token] for token in numbers[number].tolist()], columns)


def _shown(column: list[float]) -> str:
    listed = ", ".join(f"{value:.4g}" for value in column[:4]) + (", …" if len(column) > 4 else "")
    return f"{listed} " if len(column) == 1 else f"({listed}) "
