"""The grid a construction works on, and the integer codes of its columns.

Along coordinate i the domain is cut into `counts[i]` equal cells. Inside the network a cell has side `cell_width`, a
power of two, so that sums and differences of grid values are exact; `scales[i]` takes the domain's coordinate there.
A grid column with cell numbers k has the code c = Σ_i radices[i]·k[i], 0 <= c < columns. With positions, column j is
moved up by j times `slot_strides` cells, into a slot of its own.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Symmetry, Target


@dataclass(frozen=True)
class Lattice:
    """A grid over a target's domain that is dyadic inside the network."""

    tokens: int
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    counts: tuple[int, ...]
    cell_width: float
    scales: tuple[float, ...]
    slot_strides: tuple[int, ...]
    has_positions: bool
    is_guarded: bool
    slot_of_token: tuple[int, ...] = ()
    """Which slot each token has with positions; by default its own number."""

    @classmethod
    def dyadic(cls, target: Target, cell_width: float) -> "Lattice":
        """Cells of a dyadic width in the domain itself; the last ones may stick out. Slots are two grids apart.

        One grid apart, as in the paper, is not enough: a token shifted by M cells may then land in a later slot,
        where it would be shifted again.
        """
        sides = target.domain.highs(target.width) - target.domain.lows(target.width)
        counts = tuple(math.ceil(side / cell_width) for side in sides)
        return cls._over(target, counts, cell_width, (1.0,) * target.width, tuple(2 * count for count in counts))

    @classmethod
    def with_counts(cls, target: Target, counts: tuple[int, ...]) -> "Lattice":
        """Any number of cells along each coordinate. Slots follow each other in the first coordinate alone."""
        cell_width = 2.0 ** -math.ceil(math.log2(max(counts)))
        sides = target.domain.highs(target.width) - target.domain.lows(target.width)
        scales = tuple(float(n * cell_width / side) for n, side in zip(counts, sides, strict=True))
        strides = (math.prod(counts),) + (0,) * (target.width - 1)
        return cls._over(target, counts, cell_width, scales, strides)

    @classmethod
    def with_slots(cls, target: Target, counts: tuple[int, ...], slot_of_token: tuple[int, ...] = ()) -> "Lattice":
        """As `with_counts`, for a target with positions; at least two cells, so that columns differ."""
        counts = counts if any(count > 1 for count in counts) else (2, *counts[1:])
        return replace(cls.with_counts(target, counts), slot_of_token=slot_of_token)

    @classmethod
    def _over(
        cls,
        target: Target,
        counts: tuple[int, ...],
        cell_width: float,
        scales: tuple[float, ...],
        slot_strides: tuple[int, ...],
    ) -> "Lattice":
        return cls(
            target.tokens,
            tuple(map(float, target.domain.lows(target.width))),
            tuple(map(float, target.domain.highs(target.width))),
            counts,
            cell_width,
            scales,
            slot_strides,
            has_positions=target.symmetry is Symmetry.NONE,
            is_guarded=isinstance(target.domain, CompactSupport),
        )

    @property
    def width(self) -> int:
        """Numbers per token."""
        return len(self.lows)

    @property
    def cell_sides(self) -> Array:
        """The sides of a cell in the domain's own coordinates."""
        return self.cell_width / np.array(self.scales)

    @property
    def rounds_input(self) -> bool:
        """Whether bringing the input to the grid rounds: shifting or scaling does."""
        return any(self.lows) or any(scale != 1 for scale in self.scales)

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
        return np.arange(self.slots, dtype=np.int64)[:, None] * np.array(self.slot_strides, dtype=np.int64)

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
        slots = list(self.slot_of_token or range(self.tokens))
        return np.asarray(self.slot_cells[slots] * self.cell_sides - np.array(self.lows))

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
        low = np.array(self.lows) + self.column_table()[codes] * self.cell_sides
        return np.asarray((low + np.minimum(low + self.cell_sides, np.array(self.highs))) / 2)
