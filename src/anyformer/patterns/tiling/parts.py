"""The parts in which a list of neighbours is executed: tiles of 32 queries with bit masks, and rows of single pairs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Integers

QUERIES: Final = 32
"""Queries in a tile: as many as a mask of 32 bits can tell apart."""

NOBODY: Final = -1
"""Stands in a tile where a query would."""

Masks: TypeAlias = NDArray[np.uint32]
Indices: TypeAlias = NDArray[np.int32]


@final
@dataclass(frozen=True, eq=False)
class Tiles:
    """Tile t computes all pairs of its 32 queries and the keys `keys[starts[t]:starts[t + 1]]`; masks choose some.

    Bit i of a key's mask says whether query i of the tile sees the key. A query is in at most one tile.
    """

    queries: Indices  # (tiles, 32); NOBODY fills a tile up
    starts: Integers  # (tiles + 1,)
    keys: Indices  # (columns,)
    masks: Masks  # (columns,)

    @property
    def executed(self) -> int:
        """How many pairs are computed."""
        return len(self.keys) * QUERIES

    @cached_property
    def connections(self) -> int:
        """How many of them are wanted."""
        return int(np.unpackbits(self.masks.view(np.uint8)).sum())


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Query k is computed with the keys `keys[starts[k]:starts[k + 1]]`, pair by pair."""

    starts: Integers  # (tokens + 1,)
    keys: Indices  # (connections,)

    @property
    def executed(self) -> int:
        """How many pairs are computed: no more than are wanted."""
        return len(self.keys)


@final
@dataclass(frozen=True, eq=False)
class Tiling:
    """A list of neighbours cut into parts; every pair of the list is in exactly one of them.

    >>> from anyformer.patterns import SlidingWindow
    >>> from anyformer.patterns.tiling.compiler import tiling_of
    >>> tiling_of(SlidingWindow(32).at(256).layer(0))
    Tiling(tokens=256, connections=15584, executed=19784, in tiles=19392, in rows=392)
    """

    tokens: int
    tiles: tuple[Tiles, ...]
    rows: Rows | None

    @property
    def executed(self) -> int:
        """How many pairs are computed in one head."""
        return sum(part.executed for part in self.tiles) + self.in_rows

    @property
    def in_rows(self) -> int:
        """How many of them pair by pair."""
        return self.rows.executed if self.rows else 0

    @property
    def connections(self) -> int:
        """How many pairs the list has."""
        return sum(part.connections for part in self.tiles) + self.in_rows

    def __repr__(self) -> str:
        return (
            f"Tiling(tokens={self.tokens}, connections={self.connections}, executed={self.executed},"
            f" in tiles={self.executed - self.in_rows}, in rows={self.in_rows})"
        )
