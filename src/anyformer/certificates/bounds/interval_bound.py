"""The error on cells from the target's own formula, run on intervals: no constant is declared and none is trusted.

A cell is cut into boxes, and on every box the mean of |f − g|^p is bounded from above and below (`box_errors`). Summing
volume times mean gives an upper and a lower bound of the integral; both converge as boxes shrink. Output entries that
depend on the same inputs are treated together and cut along those inputs only (`splitting`; a heuristic that cannot
make the bound wrong). Every order of the tokens is visited: the symmetry of f is not trusted either.

How finely a cell is cut depends on the cell and a *threshold* alone: until what lies between its two bounds is at most
the threshold per box. `refinement` chooses the threshold.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from anyformer.arrays import Array, Booleans, Integers
from anyformer.certificates.bounds.box_errors import BoxErrors, Boxes
from anyformer.certificates.bounds.cells import Grid, volumes
from anyformer.certificates.bounds.job import Job, Sums
from anyformer.certificates.bounds.splitting import SplittingRule, splitting_groups, subdivided
from anyformer.certificates.propagation.enclosures import Enclosure, up_times
from anyformer.certificates.propagation.gate import vigilant
from anyformer.targets.ranges import can_have_slopes, range_on_boxes
from anyformer.targets.target import Target

Bounds: TypeAlias = Callable[[Boxes, Integers], tuple[Array, Array]]

CHUNK_BOXES = 1 << 17
# Whether slopes pay is tried on some cells that are cut into about so many boxes together, each halved so many times.
# They must narrow the gaps to a share.
TRIED_BOXES, TRIED_LEVELS, PAYS = 1 << 8, (4, 8, 12), 0.5
# A single cell is cut into at most 2 to this many boxes; where nothing is known of f, into fewer.
FINEST, FINEST_UNKNOWN = 20, 8
# A lower threshold goes on from a higher one, to the same result as from the start: the last few chunks are kept.
KEPT = 8


@dataclass(frozen=True, eq=False)
class OrderedCells:
    """Cells in every order of their tokens, with what the network returns there."""

    choice: Integers
    low: Array
    high: Array


def interval_sums(job: Job, part: tuple[tuple[int, int], float]) -> Sums:
    """The sums of a chunk of cells, cut as finely as the threshold demands."""
    chunk, threshold = part
    with vigilant():
        integrals = _integrals(job, chunk)
        integrals.refine(threshold)
        return integrals.sums()


@lru_cache(maxsize=KEPT)
def _integrals(job: Job, chunk: tuple[int, int]) -> "CellIntegrals":
    batch, _, outputs = job.followed(chunk)
    return CellIntegrals(job, in_every_order(batch.choice, outputs, job.up_to_order))


def in_every_order(choice: Integers, outputs: Enclosure, up_to_order: bool) -> OrderedCells:
    """Rearrange cells that were followed up to the order of their tokens, each once; the outputs move along."""
    out = outputs.folded()
    if not up_to_order:
        return OrderedCells(choice, out.low, out.high)
    # Tokens that share a cell are neighbours here, and exchanging them gives the same cell.
    repeats, kind = np.unique((choice[:, 1:] == choice[:, :-1]).all(axis=2), axis=0, return_inverse=True)
    parts = []
    for k, pattern in enumerate(repeats):
        places = distinct_orders(tuple(pattern.tolist()))
        some = kind.ravel() == k
        parts.append([array[some][:, places].reshape(-1, *choice.shape[1:]) for array in (choice, out.low, out.high)])
    return OrderedCells(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


@lru_cache(maxsize=64)
def distinct_orders(repeats: tuple[bool, ...]) -> Integers:
    """All different orders of a row in which entry i + 1 equals entry i where `repeats[i]` is true, each once.

    Rows of places in the given row; equal entries stay in their order. There are n!/Π (length of each run)! of them.
    """
    run_of = np.cumsum([0, *(not same for same in repeats)])
    lengths = np.bincount(run_of)
    starts = np.cumsum(lengths) - lengths
    orders, used = np.zeros((1, 0), dtype=np.int64), np.zeros((1, len(lengths)), dtype=np.int64)
    for _ in run_of:
        row, run = np.nonzero(used < lengths)
        orders = np.column_stack([orders[row], starts[run] + used[row, run]])
        used = used[row]
        used[np.arange(len(run)), run] += 1
    return orders


class CellIntegrals:
    """Bounds of ∫|f_a − g_a|^p on every cell, summed over each group of output entries; refined where it pays."""

    def __init__(self, job: Job, cells: OrderedCells) -> None:
        self.grid, self.cells = job.grid, cells
        self.errors = BoxErrors(job.target, job.unit, job.p)
        self.groups = splitting_groups(job.target)
        self.tried = {} if can_have_slopes(job.target) else dict.fromkeys(TRIED_LEVELS, False)
        shape = (len(cells.choice), len(self.groups))
        self.level = np.zeros(shape, dtype=np.int64)
        self.upper, self.lower = np.zeros(shape), np.zeros(shape)
        self.range = _range_of_target(job.target, job.grid, cells.choice)
        for group in range(shape[1]):
            self._integrate(np.arange(shape[0]), group)

    def refine(self, threshold: float) -> None:
        """Halve boxes until no cell has more than the threshold per box between its bounds."""
        while True:
            gap = self._gap_per_box()
            finest = np.where(np.isfinite(gap), FINEST, FINEST_UNKNOWN)
            # By ranges a gap shrinks by no more than half when boxes are halved, and there are twice as many boxes
            # then: two halvings at once pass over nothing. By slopes it may shrink faster.
            at_most = np.ones_like(self.level)
            for level in np.unique(self.level[gap > 4 * threshold]):
                at_most[self.level == level] = 1 if self._with_slopes(int(level) + 2) else 2
            steps = np.where(gap > 4 * threshold, at_most, 1)
            rough = (gap > threshold) & (self.level + steps <= finest)
            if not rough.any():
                return
            self.level[rough] += steps[rough]
            for group in range(len(self.groups)):
                self._integrate(np.flatnonzero(rough[:, group]), group)

    def sums(self) -> Sums:
        """The sums of all cells at the present cutting."""
        coinciding = _coinciding(self.cells.choice)
        by_cell = self.lower.sum(axis=1)
        worst = self.grid.boxes(self.cells.choice[[int(by_cell.argmax())]])
        return Sums(
            parts={
                "cells": float(self.upper[~coinciding].sum()),
                "coincidence": float(self.upper[coinciding].sum()),
            },
            lower=float(by_cell.sum()),
            worst=float(by_cell.max()),
            worst_input=(worst.low[0] + worst.high[0]) / 2,
            f_low=self.range[0],
            f_high=self.range[1],
            boxes=int((2**self.level).sum()),
            gap_per_box=float(self._gap_per_box().max()),
            by_slopes=any(self.tried.values()),
            is_known=bool(np.isfinite(self.cells.low).all() and np.isfinite(self.cells.high).all()),
        )

    def _gap_per_box(self) -> Array:
        return _gap(self.upper, self.lower) / 2.0**self.level

    def _integrate(self, which: Integers, group: int) -> None:
        for level in np.unique(self.level[which, group]):
            some = which[self.level[which, group] == level]
            size = max(1, CHUNK_BOXES >> int(level))
            bounds = self.errors.by_slopes if self._with_slopes(int(level)) else self.errors.by_ranges
            for start in range(0, len(some), size):
                cells = some[start : start + size]
                found = self._bounds(cells, self.groups[group], int(level), bounds)
                self.upper[cells, group], self.lower[cells, group] = found

    def _with_slopes(self, level: int) -> bool:
        """Whether cells halved so often are bounded by slopes; once these pay, they do for finer cuts too."""
        return any(self._slopes_pay(tried) for tried in TRIED_LEVELS if tried <= max(level, TRIED_LEVELS[0]))

    def _slopes_pay(self, level: int) -> bool:
        """Whether slopes narrow the gaps of a few cells, evenly taken, by so much that they are worth their price.

        Gaps of ranges shrink with the side of the boxes: to halve them takes 2^k times the boxes for k inputs. The
        answer depends on the chunk and the level alone.
        """
        if level not in self.tried:
            count = max(1, TRIED_BOXES >> level)
            which = np.unique(np.linspace(0, len(self.cells.choice) - 1, count).round().astype(int))
            ranges, slopes = (
                sum(_gap(*self._bounds(which, rule, level, bounds)).sum() for rule in self.groups)
                for bounds in (self.errors.by_ranges, self.errors.by_slopes)
            )
            self.tried[level] = bool(slopes <= PAYS * ranges)
        return self.tried[level]

    def _bounds(self, which: Integers, rule: SplittingRule, level: int, bounds: Bounds) -> tuple[Array, Array]:
        """Upper and lower bounds of the integral over each of some cells that are cut alike."""
        low, high = subdivided(self.grid.boxes(self.cells.choice[which]), rule.pieces(level))
        parts = len(low) // len(which)
        g_low, g_high = (np.repeat(end[which], parts, axis=0) for end in (self.cells.low, self.cells.high))
        upper, lower = bounds(Boxes(low, high, g_low, g_high), rule.entries)
        volume = volumes(Enclosure.box(low, high))
        upper, lower = up_times(volume, upper), volume * lower
        upper, lower = (np.reshape(powers, (-1, parts)).sum(axis=1) for powers in (upper, lower))
        return upper, lower * (1 - 2.0**-30)


def _gap(upper: Array, lower: Array) -> Array:
    with np.errstate(invalid="ignore"):  # ∞ − ∞: nothing is known
        return np.nan_to_num(upper - lower, nan=np.inf, posinf=np.inf)


def _coinciding(choice: Integers) -> Booleans:
    """Cells in which two tokens share all their intervals."""
    same = (choice[:, :, None] == choice[:, None, :]).all(axis=-1)
    return np.asarray(same.sum(axis=(1, 2)) > choice.shape[1])


def _range_of_target(target: Target, grid: Grid, choice: Integers) -> tuple[Array, Array]:
    """The range of each coordinate of f over cells and walls: every cell is widened to where the next ones begin."""
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    starts = [np.concatenate([[least], high[:-1]]) for high, least in zip(grid.highs, lows, strict=True)]
    ends = [np.concatenate([low[1:], [most]]) for low, most in zip(grid.lows, highs, strict=True)]
    low = np.stack([starts[row][choice[..., row]] for row in range(target.width)], axis=-1)
    high = np.stack([ends[row][choice[..., row]] for row in range(target.width)], axis=-1)
    f_low, f_high = range_on_boxes(target, low, high)
    return f_low.min(axis=(0, 1)), f_high.max(axis=(0, 1))


def forget() -> None:
    """Drop the chunks that were kept."""
    _integrals.cache_clear()
