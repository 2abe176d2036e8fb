"""The grid a construction works on, and the integer codes of its columns.

Cells are cubes of side `cell_width`, a power of two so that sums and differences of grid values are exact. Along
coordinate i there are `counts[i]` of them, from `lows[i]` up. A grid column with cell numbers k has the code c = Σ_i
radices[i]·k[i], 0 <= c < columns. With positions, column j is moved up into a slot of its own, so that no two columns
ever share a cell. Slots are two grids apart, not one as in the paper: a token shifted out of its slot by M cells or
more must not land in a later slot, where it would be shifted again.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyformer.networks.activations import Array
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Symmetry, Target

Integers = NDArray[np.int64]
SLOT_SPACING = 2


@dataclass(frozen=True)
class Lattice:
    """A dyadic grid over a target's domain."""

    tokens: int
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    cell_width: float
    has_positions: bool
    is_guarded: bool

    @classmethod
    def over(cls, target: Target, cell_width: float) -> "Lattice":
        """The grid of the given cell width over the domain of a target."""
        lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
        return cls(
            target.tokens,
            tuple(map(float, lows)),
            tuple(map(float, highs)),
            cell_width,
            has_positions=target.symmetry is Symmetry.NONE,
            is_guarded=isinstance(target.domain, CompactSupport),
        )

    @property
    def width(self) -> int:
        """Numbers per token."""
        return len(self.lows)

    @property
    def counts(self) -> tuple[int, ...]:
        """Cells along each coordinate."""
        sides = zip(self.lows, self.highs, strict=True)
        return tuple(math.ceil((high - low) / self.cell_width) for low, high in sides)

    @property
    def radices(self) -> tuple[int, ...]:
        """The paper's u: the weight of each coordinate's cell number in the code."""
        return tuple(math.prod(self.counts[:i]) for i in range(self.width))

    @property
    def columns(self) -> int:
        """How many grid columns there are: the paper's M = N^d."""
        return math.prod(self.counts)

    @property
    def slots(self) -> int:
        """How many copies of the grid stand side by side: one per token with positions, else one."""
        return self.tokens if self.has_positions else 1

    @property
    def sequences(self) -> int:
        """How many sequences of grid columns get ids: all with positions, else all sets of different columns."""
        return self.columns**self.tokens if self.has_positions else math.comb(self.columns, self.tokens)

    @property
    def slot_cells(self) -> Integers:
        """By how many cells each slot is moved up in each coordinate, shape (slots, width)."""
        return np.asarray(SLOT_SPACING * np.arange(self.slots, dtype=np.int64)[:, None] * np.array(self.counts))

    @property
    def slot_codes(self) -> Integers:
        """What a token's slot adds to its code."""
        return np.asarray(self.slot_cells @ np.array(self.radices, dtype=np.int64))

    @property
    def largest_entry(self) -> float:
        """The end of the last slot: no quantised entry reaches it."""
        return float((self.slot_cells[-1] + np.array(self.counts)).max() * self.cell_width)

    @property
    def positional_encoding(self) -> Array | None:
        """E: column j moves up by j slots, and every coordinate's low end to 0."""
        if not self.has_positions:
            return None
        return np.asarray(self.slot_cells * self.cell_width - np.array(self.lows))

    def column_table(self) -> Integers:
        """Cell numbers of every column by code, shape (columns, width)."""
        reversed_cells = itertools.product(*(range(count) for count in reversed(self.counts)))
        return np.array(list(reversed_cells), dtype=np.int64)[:, ::-1]

    def sequence_codes(self) -> Integers:
        """Codes of the sequences that get ids, in increasing order within a row; shape (sequences, tokens)."""
        columns = range(self.columns)
        rows: Iterator[tuple[int, ...]] = itertools.combinations(columns, self.tokens)
        if self.has_positions:
            rows = itertools.product(columns, repeat=self.tokens)
        flat = np.fromiter(itertools.chain.from_iterable(rows), dtype=np.int64, count=self.sequences * self.tokens)
        return flat.reshape(-1, self.tokens)

    def centres(self, codes: Integers) -> Array:
        """Centres of the cells of the given columns, in the target's coordinates; the last cells end at the domain."""
        cells = self.column_table()[codes]
        low = np.array(self.lows) + cells * self.cell_width
        high = np.minimum(low + self.cell_width, np.array(self.highs))
        return np.asarray((low + high) / 2)
