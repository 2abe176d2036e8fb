"""The boxes of a proof: a product grid that leaves thin walls between neighbours.

Along each coordinate of a token the grid is a list of disjoint intervals, the same for every token. A *cell* picks one
interval for every entry of the sequence. What lies between the intervals is the *rest*, and its volume is known.
"""

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from anyformer.arrays import Array, Booleans, Integers
from anyformer.certificates.propagation.enclosures import ULP, Enclosure, up, up_times
from anyformer.errors import CertificateError
from anyformer.targets.domains import Domain
from anyformer.targets.target import Target


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
    def columns(self) -> Integers:
        """All choices of intervals for one token, shape (M, width), the last coordinate running fastest."""
        numbers = np.arange(math.prod(self.cells_per_axis))
        return np.stack(np.unravel_index(numbers, self.cells_per_axis), axis=1).astype(np.int64)

    def inside(self, domain: Domain) -> bool:
        """Whether every interval lies in the domain."""
        width = len(self.lows)
        bounds = zip(self.lows, self.highs, domain.lows(width), domain.highs(width), strict=True)
        return all(low[0] >= least and high[-1] <= most for low, high, least, most in bounds)

    def boxes(self, choice: Integers) -> Enclosure:
        """The cells of the given intervals; choice has shape (batch, tokens, width)."""
        rows = range(len(self.lows))
        low = np.stack([self.lows[row][choice[..., row]] for row in rows], axis=-1)
        high = np.stack([self.highs[row][choice[..., row]] for row in rows], axis=-1)
        return Enclosure.box(low, high)


@dataclass(frozen=True, eq=False)
class CellBatch:
    """Some cells, by the column of every token and by its intervals, and how many cells each stands for."""

    codes: Integers
    choice: Integers
    multiplicity: Array
    coinciding: Booleans


def count_cells(columns: int, tokens: int, up_to_order: bool) -> int:
    """How many cells there are; up to the order of the tokens, how many multisets."""
    return math.comb(columns + tokens - 1, tokens) if up_to_order else columns**tokens


def cells_between(grid: Grid, tokens: int, up_to_order: bool, start: int, stop: int) -> CellBatch:
    """The cells with numbers start..stop−1. Up to order, one cell stands for all its rearrangements."""
    columns = grid.columns
    numbers = np.arange(start, stop, dtype=np.int64)
    if up_to_order:
        codes = _multisets(numbers, len(columns), tokens)
        ordered, multiplicity = codes, _rearrangements(codes)
    else:
        codes = np.stack(np.unravel_index(numbers, (len(columns),) * tokens), axis=1)
        ordered, multiplicity = np.sort(codes, axis=1), np.ones(len(codes))
    coinciding = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    return CellBatch(codes, columns[codes], multiplicity, coinciding)


def _multisets(numbers: Integers, columns: int, tokens: int) -> Integers:
    """The multisets of `tokens` out of `columns` with the given numbers, in lexicographic order, each row sorted.

    There are C(columns − c + k − 1, k) rows of length k with no entry below c. Among the rows with no entry below b,
    the one with number r begins with the largest c for which that count is still above what b's leaves after r.
    """
    rest = numbers.copy()
    least = np.zeros_like(numbers)
    result = np.empty((len(numbers), tokens), dtype=np.int64)
    for place in range(tokens):
        k = tokens - place
        # Rising with its index, which is columns − c.
        counts = np.array([math.comb(left + k - 1, k) if left else 0 for left in range(columns + 1)], dtype=np.int64)
        left = np.searchsorted(counts, counts[columns - least] - rest)
        rest -= counts[columns - least] - counts[left]
        least = columns - left
        result[:, place] = least
    return result


def _rearrangements(ordered: Integers) -> Array:
    """How many different orders each sorted row has: n! / Π (length of each run)!."""
    tokens = ordered.shape[1]
    result = np.full(len(ordered), float(math.factorial(tokens)))
    run = np.ones(len(ordered))
    for j in range(1, tokens):
        run = np.where(ordered[:, j] == ordered[:, j - 1], run + 1, 1.0)
        result = result / run
    return result


def _walls(target: Target, grid: Grid) -> list[Array]:
    """Per coordinate, the lengths left between neighbouring intervals and the ends of the domain."""
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    return [
        np.concatenate([row_low, [end]]) - np.concatenate([[start], row_high])
        for row_low, row_high, start, end in zip(grid.lows, grid.highs, lows, highs, strict=True)
    ]


def volumes(boxes: Enclosure) -> Array:
    """The volume of every box, rounded up: 0 only if a side is, however small the sides are."""
    volume, least = np.ones(len(boxes.low)), 1.0
    sides = [boxes.high[:, *entry] - boxes.low[:, *entry] for entry in np.ndindex(*boxes.low.shape[1:])]
    for side in sides:
        volume *= side
        least = min(least, float(volume.min(initial=1.0)))
    if least >= 2.0**-900:
        return volume * (1 + (len(sides) + 1) * ULP)
    # A product may have underflowed before a later, large factor: the loss is then multiplied too.
    return reduce(up_times, sides, np.ones(len(boxes.low)))


def widest_walls(target: Target, grid: Grid) -> Array:
    """Per coordinate, the widest wall."""
    return np.array([float(up(wall.max())) for wall in _walls(target, grid)])


def rest_volume(target: Target, grid: Grid) -> float:
    """Volume outside all cells: at most Σ over entries of the share its walls have of its side."""
    sides = target.domain.highs(target.width) - target.domain.lows(target.width)
    shares = [float(up(wall).sum()) / side for wall, side in zip(_walls(target, grid), sides, strict=True)]
    return float(target.domain.volume(target.tokens, target.width) * target.tokens * sum(shares) * (1 + 2.0**-36))
