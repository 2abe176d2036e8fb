"""The error on cells from the target's own formula, run on intervals: no constant is declared and none is trusted.

A cell is cut into boxes. On a box f lies in [f_low, f_high] and g in [g_low, g_high], so |f − g| is at most
max(f_high − g_low, g_high − f_low), and at least the gap between the two intervals. Summing volume times p-th powers
gives an upper and a lower bound of the integral; both converge as boxes shrink. Output entries that depend on the
same inputs are treated together and cut along those inputs only (`splitting`; a heuristic that soundness does not
rest on). Every order of the tokens is visited: the symmetry of f is not trusted either.

How finely a cell is cut depends on the cell and a *threshold* alone: until what lies between its two bounds is at most
the threshold per box. `refinement` chooses the threshold.
"""

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from anyformer.certificates.cells import Grid
from anyformer.certificates.enclosures import Enclosure, up
from anyformer.certificates.job import Job, Sums
from anyformer.certificates.splitting import SplittingRule, splitting_groups, subdivided
from anyformer.networks.activations import Array
from anyformer.targets.ranges import range_on_boxes
from anyformer.targets.target import Target

Integers = NDArray[np.int64]

CHUNK_BOXES = 1 << 17
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
    """What a chunk of cells contributes, cut as finely as the threshold asks for."""
    chunk, threshold = part
    integrals = _integrals(job, chunk)
    integrals.refine(threshold)
    return integrals.sums()


@lru_cache(maxsize=KEPT)
def _integrals(job: Job, chunk: tuple[int, int]) -> "CellIntegrals":
    batch, _, outputs = job.followed(chunk)
    return CellIntegrals(job, in_every_order(batch.choice, outputs, job.up_to_order))


def in_every_order(choice: Integers, outputs: Enclosure, up_to_order: bool) -> OrderedCells:
    """Rearrange cells that were followed up to the order of their tokens; the outputs move along."""
    out = outputs.folded()
    if not up_to_order:
        return OrderedCells(choice, out.low, out.high)
    tokens = choice.shape[1]
    orders = np.array(list(itertools.permutations(range(tokens))))
    every = choice[:, orders].reshape(-1, *choice.shape[1:])
    flat = every.reshape(len(every), -1)
    _, first = np.unique(
        np.column_stack([np.repeat(np.arange(len(choice)), len(orders)), flat]), axis=0, return_index=True
    )
    low, high = (end[:, orders].reshape(every.shape)[first] for end in (out.low, out.high))
    return OrderedCells(every[first], low, high)


class CellIntegrals:
    """Bounds of ∫|f_a − g_a|^p on every cell, summed over each group of output entries; refined where it pays."""

    def __init__(self, job: Job, cells: OrderedCells) -> None:
        self.target, self.grid, self.p, self.cells = job.target, job.grid, job.p, cells
        self.groups = splitting_groups(job.target)
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
            # A gap shrinks by no more than half when boxes are halved, and there are twice as many boxes then.
            steps = np.where(gap > 4 * threshold, 2, 1)
            rough = (gap > threshold) & (self.level + steps <= finest)
            if not rough.any():
                return
            self.level[rough] += steps[rough]
            for group in range(len(self.groups)):
                self._integrate(np.flatnonzero(rough[:, group]), group)

    def sums(self) -> Sums:
        """What all cells contribute as they are cut now."""
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
            is_known=bool(np.isfinite(self.cells.low).all() and np.isfinite(self.cells.high).all()),
        )

    def _gap_per_box(self) -> Array:
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(self.upper - self.lower, nan=np.inf, posinf=np.inf) / 2.0**self.level

    def _integrate(self, which: Integers, group: int) -> None:
        for level in np.unique(self.level[which, group]):
            some = which[self.level[which, group] == level]
            size = max(1, CHUNK_BOXES >> int(level))
            for start in range(0, len(some), size):
                cells = some[start : start + size]
                bounds = self._bounds(cells, self.groups[group], int(level))
                self.upper[cells, group], self.lower[cells, group] = bounds

    def _bounds(self, which: Integers, rule: SplittingRule, level: int) -> tuple[Array, Array]:
        """Upper and lower bounds of the integral over each of some cells that are cut alike."""
        low, high = subdivided(self.grid.boxes(self.cells.choice[which]), rule.pieces(level))
        parts = len(low) // len(which)
        f_low, f_high = range_on_boxes(self.target, low, high)
        upper, lower = np.zeros(len(low)), np.zeros(len(low))
        for entry in rule.entries:
            at = (slice(None), *divmod(int(entry), self.target.width))
            g_low, g_high = (np.repeat(end[which][at], parts) for end in (self.cells.low, self.cells.high))
            with np.errstate(invalid="ignore"):
                most = np.maximum(f_high[at] - g_low, g_high - f_low[at])
                least = np.maximum(np.maximum(f_low[at] - g_high, g_low - f_high[at]), 0.0)
            upper += up(np.where(np.isnan(most), np.inf, most)) ** self.p
            lower += least**self.p
        volume = np.ones(len(low))
        for token, row in np.ndindex(*low.shape[1:]):
            volume *= high[:, token, row] - low[:, token, row]
        volume = up(volume)
        upper, lower = (np.reshape(volume * powers, (-1, parts)).sum(axis=1) for powers in (upper, lower))
        return upper, lower * (1 - 2.0**-40)


def _coinciding(choice: Integers) -> NDArray[np.bool_]:
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
    """Let go of the chunks that were kept."""
    _integrals.cache_clear()
