"""The error bound, derived from weights, target and cells alone.

    d_p(f, g)^p  <=  Σ_cells ∫_cell ‖f − g‖_p^p  +  (volume of the rest)·sup ‖f − g‖_p^p

Every cell is propagated through the network as a whole, which encloses g on it. The integral over a cell is bounded
with the target run on intervals (`interval_bound`) or with its declared modulus (`modulus_bound`). On the rest, g is
bounded by what the last stage returns for any input whatever. Outside a compact support g must be 0.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyformer.certificates.cells import CellBatch, Grid, cell_batches, count_cells
from anyformer.certificates.enclosures import Enclosure, up
from anyformer.certificates.evidence import Evidence, evidence_for, range_on_boxes
from anyformer.certificates.feed_forward import Arithmetic
from anyformer.certificates.interval_bound import CellIntegrals, in_every_order
from anyformer.certificates.modulus_bound import INFLATION, ModulusSums
from anyformer.certificates.propagate import propagate, propagate_stage
from anyformer.errors import CertificateError
from anyformer.networks.activations import Array
from anyformer.networks.network import Network
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Symmetry, Target

BATCH_TOKENS = 1 << 16
TIGHTNESS = 1.5


@dataclass(frozen=True, eq=False)
class ErrorBound:
    """An upper and a lower bound on d_p(f, g), its parts as L^p norms, and the cell where most of it surely lies."""

    upper: float
    lower: float
    terms: dict[str, float]
    worst_input: Array
    vanishes_outside: bool
    cells: int
    evidence: Evidence


@dataclass(frozen=True, eq=False)
class _OnCells:
    """p-th powers on the cells by name; `total` and `lower` sum them up. The range of f over the whole domain."""

    total: float
    lower: float
    parts: dict[str, float]
    worst_input: Array
    f_low: Array
    f_high: Array


def derive_bound(
    network: Network,
    target: Target,
    grid: Grid,
    p: float,
    tolerance: float = math.inf,
    tightness: float = TIGHTNESS,
    evidence: Evidence | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ErrorBound:
    """Bound the L^p distance of network and target.

    With intervals, cells are refined until the bound is within the tolerance and as tight as asked.
    """
    if not tightness > 1:
        raise CertificateError(f"the tightness must be above 1; got {tightness!r}")
    evidence = evidence_for(target) if evidence is None else evidence
    # Without positions the network permutes with its input: one order of each cell says it all of g. With a modulus
    # f is only looked at in that order too, so its symmetry must have been declared.
    alike = evidence is Evidence.UNCONDITIONAL or target.symmetry is Symmetry.EQUIVARIANT
    followed = _Followed(network, target, grid, network.positional_encoding is None and alike, progress)
    measure = _with_intervals if evidence is Evidence.UNCONDITIONAL else _with_modulus
    rest_volume = _rest_volume(target, grid)
    on_cells = measure(followed, p, tolerance, tightness)
    rest = _rest_power(network, on_cells.f_low, on_cells.f_high, rest_volume, p)
    outside = not isinstance(target.domain, CompactSupport) or _vanishes_outside(network, target)
    terms = {name: _norm(power, p) for name, power in {**on_cells.parts, "rest": rest}.items()}
    return ErrorBound(
        upper=_norm(on_cells.total + rest, p) if outside else math.inf,
        lower=float(max(on_cells.lower, 0.0) ** (1 / p) / INFLATION**2),
        terms={**terms, "rest_volume": rest_volume},
        worst_input=on_cells.worst_input,
        vanishes_outside=outside,
        cells=followed.count,
        evidence=evidence,
    )


def _norm(power: float, p: float) -> float:
    return float((power * INFLATION) ** (1 / p) * INFLATION)


@dataclass(eq=False)
class _Followed:
    """All cells, followed through the network a batch at a time."""

    network: Network
    target: Target
    grid: Grid
    up_to_order: bool
    progress: Callable[[int, int], None] | None
    done: int = 0

    @property
    def count(self) -> int:
        """Cells to follow."""
        return count_cells(math.prod(self.grid.cells_per_axis), self.target.tokens, self.up_to_order)

    def batches(self) -> Iterator[tuple[CellBatch, Enclosure, Enclosure]]:
        """Yield cells, their boxes and what the network returns on them."""
        size = max(1, BATCH_TOKENS // self.target.tokens)
        work = self.network.layer_count * math.ceil(self.count / size)

        def advance(layers: int) -> None:
            self.done += layers
            if self.progress is not None:
                self.progress(self.done, work)

        for batch in cell_batches(self.grid, self.target.tokens, self.up_to_order, size):
            boxes = self.grid.boxes(batch.choice)
            yield batch, boxes, propagate(self.network, boxes, progress=advance)


def _with_modulus(followed: _Followed, p: float, tolerance: float, tightness: float) -> _OnCells:
    target = followed.target
    assert target.modulus is not None
    sums = ModulusSums(target, target.modulus, _widest_wall(target, followed.grid), p)
    for batch, boxes, outputs in followed.batches():
        sums.add(batch, boxes, outputs)
    parts = {"cells": sums.regular, "coincidence": sums.coincidence}
    more = {"variation": sums.variation, "mismatch": sums.mismatch}
    total = sums.regular + sums.coincidence
    return _OnCells(total, sums.lower, {**parts, **more}, sums.worst_input, sums.f_low, sums.f_high)


def _with_intervals(followed: _Followed, p: float, tolerance: float, tightness: float) -> _OnCells:
    target, grid = followed.target, followed.grid
    choices, outputs = [], []
    for batch, _, output in followed.batches():
        choices.append(batch.choice)
        outputs.append(output)
    together = Enclosure(*(np.concatenate([getattr(o, end) for o in outputs]) for end in ("low", "high", "slack")))
    cells = in_every_order(np.concatenate(choices), together, followed.up_to_order)
    integrals = CellIntegrals(target, grid, cells, p)
    low, high = _range_of_target(target, grid, cells.choice)
    rest = _rest_power(followed.network, low, high, _rest_volume(target, grid), p)
    integrals.refine(tolerance**p * (1 - 1e-9) / INFLATION ** (2 * p + 2) - rest, tightness)
    coinciding = _coinciding(cells.choice)
    parts = {
        "cells": float(integrals.upper[~coinciding].sum()),
        "coincidence": float(integrals.upper[coinciding].sum()),
    }
    worst = grid.boxes(cells.choice[[int(integrals.lower.sum(axis=1).argmax())]])
    total, lower = float(integrals.upper.sum()), float(integrals.lower.sum())
    return _OnCells(total, lower, parts, (worst.low[0] + worst.high[0]) / 2, low, high)


def _coinciding(choice: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Cells in which two tokens share all their intervals."""
    same = (choice[:, :, None] == choice[:, None, :]).all(axis=-1)
    return np.asarray(same.sum(axis=(1, 2)) > choice.shape[1])


def _range_of_target(target: Target, grid: Grid, choice: NDArray[np.int64]) -> tuple[Array, Array]:
    """The range of each coordinate of f over cells and walls: every cell is widened to where the next ones begin."""
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    starts = [np.concatenate([[least], high[:-1]]) for high, least in zip(grid.highs, lows, strict=True)]
    ends = [np.concatenate([low[1:], [most]]) for low, most in zip(grid.lows, highs, strict=True)]
    low, high = np.full(target.width, np.inf), np.full(target.width, -np.inf)
    for start in range(0, len(choice), BATCH_TOKENS):
        some = choice[start : start + BATCH_TOKENS]
        box_low = np.stack([starts[row][some[..., row]] for row in range(target.width)], axis=-1)
        box_high = np.stack([ends[row][some[..., row]] for row in range(target.width)], axis=-1)
        f_low, f_high = range_on_boxes(target, box_low, box_high)
        low, high = np.minimum(low, f_low.min(axis=(0, 1))), np.maximum(high, f_high.max(axis=(0, 1)))
    return low, high


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


def _rest_power(network: Network, f_low: Array, f_high: Array, rest_volume: float, p: float) -> float:
    """volume · Σ over entries of the largest conceivable |f − g|^p."""
    if rest_volume == 0:
        return 0.0
    anything = np.full((1, network.tokens, network.width), np.inf)
    output = propagate_stage(network.stages[-1], Enclosure.box(-anything, anything), Arithmetic.REAL).folded()
    g_low, g_high = output.low.min(axis=(0, 1)), output.high.max(axis=(0, 1))
    largest = np.maximum(f_high - g_low, g_high - f_low)
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
