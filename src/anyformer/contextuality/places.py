"""The finite set that is measured: sequences of tokens that are all different, and every place in them.

A *context* is a whole sequence. Sequences that are equal are the same context and are kept once; in the equivariant
setting so are sequences that are permutations of each other, as in the papers' definition.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Integers
from anyformer.errors import ContextualityError
from anyformer.targets.target import Symmetry

Place = tuple[int, int]
"""A sequence and a position in it, both counted from 0."""


@dataclass(frozen=True, eq=False)
class Places:
    """Every position of every sequence, one after the other."""

    tokens: Integers
    """(places,): which token stands there."""
    sequences: Integers
    """(places,): the number of its sequence."""
    starts: Integers
    """(sequences + 1,): where each sequence begins, and at last the number of places."""

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def count(self) -> int:
        """How many sequences there are."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> Integers:
        """How many tokens each sequence has."""
        return np.diff(self.starts)

    def place(self, index: int) -> Place:
        """The sequence and the position of a place."""
        sequence = int(self.sequences[index])
        return sequence, index - int(self.starts[sequence])

    def of(self, sequence: int) -> slice:
        """The places of one sequence."""
        return slice(int(self.starts[sequence]), int(self.starts[sequence + 1]))


def places_of(sequences: Iterable[Sequence[int] | Integers]) -> Places:
    """The places of sequences of token numbers.

    >>> places_of([[7, 8], [7, 8, 9]]).place(3)
    (1, 1)
    """
    rows = [np.asarray(row, dtype=np.int64) for row in sequences]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    tokens = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    return Places(tokens, np.repeat(np.arange(len(rows)), lengths), starts)


def different(sequences: Sequence[Integers], symmetry: Symmetry) -> list[int]:
    """The numbers of the sequences to keep: the first of those that are the same context.

    Raises:
        ContextualityError: if one is empty, or if fewer than two are different.
    """
    kept: dict[Hashable, int] = {}
    for number, row in enumerate(sequences):
        if not len(row):
            raise ContextualityError(f"every sequence must have a token; number {number} has none. Leave it out.")
        kept.setdefault(_context(row, symmetry), number)
    if len(kept) < 2:
        same = "equal, or permutations of each other" if symmetry is Symmetry.EQUIVARIANT else "equal"
        raise ContextualityError(
            f"at least two different sequences are needed to compare contexts; got {len(sequences):,}"
            + (f", all {same}" if len(sequences) > 1 else "")
            + ". Give more text."
        )
    return list(kept.values())


def _context(row: Integers, symmetry: Symmetry) -> Hashable:
    ordered: Any = np.sort(row) if symmetry is Symmetry.EQUIVARIANT else row
    return np.ascontiguousarray(ordered).tobytes()
