"""The error bound, derived from weights, target and cells alone.

    d_p(f, g)^p  <=  Σ_cells ∫_cell ‖f − g‖_p^p  +  (volume of the rest)·sup ‖f − g‖_p^p

On a cell with centre c, |f(x) − g(x)| <= |f(x) − f(c)| + |f(c) − g(x)|. The first is integrated with the target's
modulus, the second is bounded by propagating the whole cell through the network; by Minkowski their p-means add. On
the rest, g is bounded by what the last stage returns for any input whatever, f by its values at the centres and its
modulus. Outside a compact support g must be 0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anyformer.certificates.cells import CellBatch, Grid, cell_batches, count_cells
from anyformer.certificates.enclosures import Enclosure, up
from anyformer.certificates.feed_forward import Arithmetic
from anyformer.certificates.propagate import propagate, propagate_stage
from anyformer.networks.activations import Array
from anyformer.networks.network import Network
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Symmetry, Target

# Relative errors of sums and powers of non-negative numbers stay far below this: pairwise sums of 2⁴⁰ terms lose 2⁻⁴⁶.
INFLATION = 1 + 2.0**-36
BATCH_TOKENS = 1 << 16


@dataclass(frozen=True, eq=False)
class ErrorBound:
    """An upper and a lower bound on d_p(f, g), its parts as L^p norms, and the cell where most of it lies.

    variation: f is not constant on cells. coincidence: all error on cells in which two tokens share an interval.
    mismatch: |f(c) − g| on the other cells. rest: between the cells.
    """

    upper: float
    lower: float
    variation: float
    coincidence: float
    mismatch: float
    rest: float
    rest_volume: float
    worst_input: Array
    vanishes_outside: bool
    cells: int


def derive_bound(
    network: Network, target: Target, grid: Grid, p: float, progress: Callable[[int, int], None] | None = None
) -> ErrorBound:
    """Bound the L^p distance of network and target; `progress` is told (done, of) in layers times batches."""
    up_to_order = target.symmetry is Symmetry.EQUIVARIANT and network.positional_encoding is None
    size = max(1, BATCH_TOKENS // target.tokens)
    total_cells = count_cells(math.prod(grid.cells_per_axis), target.tokens, up_to_order)
    work = network.layer_count * math.ceil(total_cells / size)
    sums = _Sums(target, grid)
    done = 0

    def advance(layers: int) -> None:
        nonlocal done
        done += layers
        if progress is not None:
            progress(done, work)

    for batch in cell_batches(grid, target.tokens, up_to_order, size):
        boxes = grid.boxes(batch.choice)
        sums.add(batch, boxes, propagate(network, boxes, progress=advance), p)
    rest_volume = _rest_volume(target, grid)
    rest = _rest_power(network, sums, rest_volume, p)
    outside = not isinstance(target.domain, CompactSupport) or _vanishes_outside(network, target)

    def norm(power: float) -> float:
        return float((power * INFLATION) ** (1 / p) * INFLATION)

    return ErrorBound(
        upper=norm(sums.regular + sums.coincidence + rest) if outside else math.inf,
        lower=float(max(sums.lower, 0.0) ** (1 / p) / INFLATION**2),
        variation=norm(sums.variation),
        coincidence=norm(sums.coincidence),
        mismatch=norm(sums.mismatch),
        rest=norm(rest),
        rest_volume=rest_volume,
        worst_input=sums.worst_input,
        vanishes_outside=outside,
        cells=total_cells,
    )


class _Sums:
    """Running sums of p-th powers over cells, and the range of f."""

    def __init__(self, target: Target, grid: Grid) -> None:
        self.target, self.wall = target, _widest_wall(target, grid)
        self.regular = self.coincidence = self.variation = self.mismatch = self.lower = 0.0
        self.worst, self.worst_input = -1.0, np.zeros((target.tokens, target.width))
        self.f_low = np.full(target.width, np.inf)
        self.f_high = np.full(target.width, -np.inf)

    def add(self, batch: CellBatch, boxes: Enclosure, outputs: Enclosure, p: float) -> None:
        """Add what the cells of one batch contribute."""
        centre, half = (boxes.low + boxes.high) / 2, up((boxes.high - boxes.low) / 2)
        f = self.target(centre)
        doubt = up(self.target.evaluation_error * (1 + np.abs(f)))
        deviation = np.asarray(self.target.modulus.mean_deviation(half, p)) * INFLATION
        miss = up(outputs.farthest_from(f) + doubt)
        volume = up(np.prod(boxes.high - boxes.low, axis=(1, 2)) * batch.multiplicity)
        powers = volume * ((deviation + miss) ** p).sum(axis=(1, 2))
        self.regular += float(powers[~batch.coinciding].sum())
        self.coincidence += float(powers[batch.coinciding].sum())
        self.variation += float((volume * (deviation**p).sum(axis=(1, 2))).sum())
        self.mismatch += float((volume * (miss**p).sum(axis=(1, 2)))[~batch.coinciding].sum())
        self._add_lower(outputs, f, deviation + doubt, volume, centre, p)
        self._add_range(f, doubt, half)

    def _add_lower(self, outputs: Enclosure, f: Array, doubt: Array, volume: Array, centre: Array, p: float) -> None:
        """By the reverse triangle inequality: where g is surely far from f(c), the error is surely large."""
        gap = np.maximum(np.maximum(outputs.low - f, f - outputs.high) - outputs.slack - doubt, 0.0)
        surely = volume * (gap**p).sum(axis=(1, 2)) / INFLATION
        self.lower += float(surely.sum())
        if surely.max() > self.worst:
            self.worst, self.worst_input = float(surely.max()), centre[int(surely.argmax())]

    def _add_range(self, f: Array, doubt: Array, half: Array) -> None:
        around = doubt + np.asarray(self.target.modulus.largest_deviation(up(half + self.wall))) * INFLATION
        self.f_low = np.minimum(self.f_low, (f - around).min(axis=(0, 1)))
        self.f_high = np.maximum(self.f_high, (f + around).max(axis=(0, 1)))


def _walls(target: Target, grid: Grid) -> list[Array]:
    """Per coordinate, the lengths left between neighbouring intervals and the ends of the domain."""
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    return [
        np.concatenate([row_low, [end]]) - np.concatenate([[start], row_high])
        for row_low, row_high, start, end in zip(grid.lows, grid.highs, lows, highs, strict=True)
    ]


def _widest_wall(target: Target, grid: Grid) -> Array:
    return np.array([float(up(wall.max())) for wall in _walls(target, grid)])


def _rest_volume(target: Target, grid: Grid) -> float:
    """Volume outside all cells: at most Σ over entries of the share its walls have of its side."""
    sides = target.domain.highs(target.width) - target.domain.lows(target.width)
    shares = [float(up(wall).sum()) / side for wall, side in zip(_walls(target, grid), sides, strict=True)]
    return float(target.domain.volume(target.tokens, target.width) * target.tokens * sum(shares) * INFLATION)


def _rest_power(network: Network, sums: _Sums, rest_volume: float, p: float) -> float:
    """volume · Σ over entries of the largest conceivable |f − g|^p."""
    if rest_volume == 0:
        return 0.0
    anything = np.full((1, network.tokens, network.width), np.inf)
    output = propagate_stage(network.stages[-1], Enclosure.box(-anything, anything), Arithmetic.REAL).folded()
    g_low, g_high = output.low.min(axis=(0, 1)), output.high.max(axis=(0, 1))
    largest = np.maximum(sums.f_high - g_low, g_high - sums.f_low)
    return float(rest_volume * network.tokens * (up(largest) ** p).sum())


def _vanishes_outside(network: Network, target: Target) -> bool:
    """Whether g is exactly 0 for every input with an entry at or beyond an end of the support, whatever the others."""
    tokens, width = network.tokens, network.width
    low = np.full((2, tokens * width, tokens, width), -np.inf)
    high = -low
    entry = np.arange(tokens * width)
    low[0, entry, entry // width, entry % width] = target.domain.highs(width)[entry % width]
    high[1, entry, entry // width, entry % width] = target.domain.lows(width)[entry % width]
    boxes = Enclosure.box(low.reshape(-1, tokens, width), high.reshape(-1, tokens, width))
    output = propagate(network, boxes, Arithmetic.REAL).folded()
    return bool((output.low == 0).all() and (output.high == 0).all())
