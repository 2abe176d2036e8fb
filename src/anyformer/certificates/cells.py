"""The boxes a proof speaks of: a product grid with a little left out between neighbours.

Along each coordinate of a token the grid is a list of disjoint intervals, the same for every token. A *cell* picks one
interval for every entry of the sequence. What lies between the intervals is the *rest*, and its volume is known.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyformer.certificates.enclosures import Enclosure
from anyformer.errors import CertificateError
from anyformer.networks.activations import Array
from anyformer.targets.domains import Domain


@dataclass(frozen=True, eq=False)
class Grid:
    """Per coordinate of a token, the lower and upper ends of its intervals."""

    lows: tuple[Array, ...]
    highs: tuple[Array, ...]

    def __post_init__(self) -> None:
        if len(self.lows) != len(self.highs) or not self.lows:
            raise CertificateError("the grid needs as many lists of upper ends as of lower ends, at least one")
        for row, (low, high) in enumerate(zip(self.lows, self.highs, strict=True)):
            if low.shape != high.shape or low.ndim != 1 or not len(low):
                raise CertificateError(f"coordinate {row} of the grid needs as many upper as lower ends, at least one")
            if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
                raise CertificateError(f"coordinate {row} of the grid has an interval that is empty or not finite")
            if (high[:-1] > low[1:]).any():
                raise CertificateError(f"coordinate {row} of the grid has intervals that overlap or are out of order")

    @property
    def cells_per_axis(self) -> tuple[int, ...]:
        """Intervals along each coordinate of a token."""
        return tuple(len(low) for low in self.lows)

    @property
    def columns(self) -> NDArray[np.int64]:
        """All choices of intervals for one token, shape (M, width)."""
        return np.array(list(itertools.product(*(range(count) for count in self.cells_per_axis))), dtype=np.int64)

    def inside(self, domain: Domain) -> bool:
        """Whether every interval lies in the domain."""
        width = len(self.lows)
        bounds = zip(self.lows, self.highs, domain.lows(width), domain.highs(width), strict=True)
        return all(low[0] >= least and high[-1] <= most for low, high, least, most in bounds)

    def boxes(self, choice: NDArray[np.int64]) -> Enclosure:
        """The cells of the given intervals; choice has shape (batch, tokens, width)."""
        rows = range(len(self.lows))
        low = np.stack([self.lows[row][choice[..., row]] for row in rows], axis=-1)
        high = np.stack([self.highs[row][choice[..., row]] for row in rows], axis=-1)
        return Enclosure.box(low, high)


@dataclass(frozen=True, eq=False)
class CellBatch:
    """Some cells, and for each how many cells it stands for."""

    choice: NDArray[np.int64]
    multiplicity: Array
    coinciding: NDArray[np.bool_]


def count_cells(columns: int, tokens: int, up_to_order: bool) -> int:
    """How many cells there are; up to the order of the tokens, how many multisets."""
    return math.comb(columns + tokens - 1, tokens) if up_to_order else columns**tokens


def cell_batches(grid: Grid, tokens: int, up_to_order: bool, size: int) -> Iterator[CellBatch]:
    """All cells in batches. Up to order, one cell stands for all its rearrangements."""
    columns = grid.columns
    codes: Iterator[tuple[int, ...]] = itertools.product(range(len(columns)), repeat=tokens)
    if up_to_order:
        codes = itertools.combinations_with_replacement(range(len(columns)), tokens)
    for chunk in _batched(codes, size):
        batch = np.array(chunk, dtype=np.int64).reshape(-1, tokens)
        ordered = np.sort(batch, axis=1)
        coinciding = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        multiplicity = _rearrangements(ordered) if up_to_order else np.ones(len(batch))
        yield CellBatch(columns[batch], multiplicity, coinciding)


def _batched(items: Iterator[tuple[int, ...]], size: int) -> Iterator[list[tuple[int, ...]]]:
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def _rearrangements(ordered: NDArray[np.int64]) -> Array:
    """How many different orders each sorted row has: n! / Π (length of each run)!."""
    tokens = ordered.shape[1]
    result = np.full(len(ordered), float(math.factorial(tokens)))
    run = np.ones(len(ordered))
    for j in range(1, tokens):
        run = np.where(ordered[:, j] == ordered[:, j - 1], run + 1, 1.0)
        result = result / run
    return result
