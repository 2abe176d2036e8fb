"""Full attention in two steps of about √n keys: the strided and fixed patterns of Child et al. and axial attention.

Both directions are seen, as in Paper B; wrap in `Causal` for the originals.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.arrangement import Arrangement, arranged, as_arrangement
from anyformer.patterns.families.family import PatternFamily, in_order
from anyformer.patterns.families.windows import classes, sliding_window
from anyformer.patterns.neighbours import from_pairs, united
from anyformer.patterns.pattern import SparsityPattern, single
from anyformer.patterns.sizes import about_root, length, require_room, whole_number


@final
@dataclass(frozen=True)
class Strided(PatternFamily):
    """A¹: the `stride` tokens on either side. A²: all tokens of the same remainder modulo `stride`.

    The stride is ⌈√n⌉ if none is given.
    """

    stride: int | None = None
    arrangement: Arrangement = Arrangement.SEQUENTIAL

    def __post_init__(self) -> None:
        if self.stride is not None:
            whole_number("stride", self.stride, least=1)
        object.__setattr__(self, "arrangement", as_arrangement(self.arrangement))

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        tokens = length(tokens)
        stride = self.stride or about_root(tokens)
        parts = [single(sliding_window(tokens, stride)), single(classes(np.arange(tokens) % stride))]
        return arranged(self.arrangement, parts)

    def path(self, tokens: int) -> Integers:
        """The tokens in order, by A¹."""
        return in_order(tokens)


@final
@dataclass(frozen=True)
class Fixed(PatternFamily):
    """A¹: the own block of `block` tokens. A²: itself and the last token of every block, which summarises the block.

    The block is ⌈√n⌉ if none is given. A shorter last block is summarised by the last token.
    """

    block: int | None = None
    arrangement: Arrangement = Arrangement.SEQUENTIAL

    def __post_init__(self) -> None:
        if self.block is not None:
            whole_number("block", self.block, least=1)
        object.__setattr__(self, "arrangement", as_arrangement(self.arrangement))

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        tokens = length(tokens)
        block, every = self.block or about_root(tokens), np.arange(tokens)
        ends = np.append(every[block - 1 : -1 : block], tokens - 1)
        require_room(tokens * len(ends))
        summaries = from_pairs(tokens, np.repeat(every, len(ends)), np.tile(ends, tokens))
        parts = [single(classes(every // block)), single(united([summaries, sliding_window(tokens, 0)]))]
        return arranged(self.arrangement, parts)

    def path(self, tokens: int) -> Integers:
        """The tokens in order: within a block by A¹, and the first of a block sees the last of the one before by A²."""
        return in_order(tokens)


@final
@dataclass(frozen=True)
class Axial(PatternFamily):
    """Tokens laid out row by row, `columns` in a row: a layer along the rows, then one along the columns.

    There are ⌈√n⌉ columns if none are given; the last row may be short.
    """

    columns: int | None = None
    arrangement: Arrangement = Arrangement.SEQUENTIAL

    def __post_init__(self) -> None:
        if self.columns is not None:
            whole_number("columns", self.columns, least=1)
        object.__setattr__(self, "arrangement", as_arrangement(self.arrangement))

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        every, columns = np.arange(length(tokens)), self._columns(tokens)
        return arranged(self.arrangement, [single(classes(every // columns)), single(classes(every % columns))])

    def path(self, tokens: int) -> Integers:
        """Row by row, every other row backwards, so that each is entered in the column where the last was left.

        The last row is entered in column 0, the only one it surely has; this fixes the direction of all others.
        """
        rows = np.split(in_order(tokens), range(self._columns(tokens), tokens, self._columns(tokens)))
        return np.concatenate([row if (len(rows) - i) % 2 else row[::-1] for i, row in enumerate(rows)])

    def _columns(self, tokens: int) -> int:
        return self.columns or about_root(tokens)
