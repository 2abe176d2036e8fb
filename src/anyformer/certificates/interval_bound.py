"""The error on cells from the target's own formula, run on intervals: no constant is declared and none is trusted.

A cell is cut into boxes. On a box f lies in [f_low, f_high] and g in [g_low, g_high], so |f − g| is at most
max(f_high − g_low, g_high − f_low), and at least the gap between the two intervals. Summing volume times p-th powers
gives an upper and a lower bound of the integral; both converge as boxes shrink. Output entries that depend on the
same inputs are treated together and cut along those inputs only (`splitting`; a heuristic that soundness does not
rest on). Cells are refined where the two bounds are far apart, until the sum is as tight as asked or the work is used
up. Every order of the tokens is visited: the symmetry of f is not trusted either.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyformer.certificates.cells import Grid
from anyformer.certificates.enclosures import Enclosure, up
from anyformer.certificates.evidence import range_on_boxes
from anyformer.certificates.splitting import splitting_groups, subdivided
from anyformer.networks.activations import Array
from anyformer.targets.target import Target

Integers = NDArray[np.int64]

CHUNK_BOXES = 1 << 17
WORK_BOXES = 1 << 25


@dataclass(frozen=True, eq=False)
class OrderedCells:
    """Cells in every order of their tokens, with what the network returns there."""

    choice: Integers
    low: Array
    high: Array


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

    def __init__(self, target: Target, grid: Grid, cells: OrderedCells, p: float) -> None:
        self.target, self.grid, self.cells, self.p = target, grid, cells, p
        self.groups = splitting_groups(target)
        shape = (len(cells.choice), len(self.groups))
        self.level = np.zeros(shape, dtype=np.int64)
        self.upper, self.lower = np.zeros(shape), np.zeros(shape)
        self.work = 0
        for group in range(shape[1]):
            self._integrate(np.arange(shape[0]), group)

    def refine(self, good_enough: float, tightness: float) -> None:
        """Refine until the sum is good enough and tight, or the work is used up.

        Tight: the upper bound of the norm is within the given factor of the middle between upper and lower bound, which
        is where the truth mostly lies.
        """
        while True:
            total, least = float(self.upper.sum()), float(self.lower.sum())
            middle = (total ** (1 / self.p) + least ** (1 / self.p)) / 2
            if total <= good_enough and total ** (1 / self.p) <= tightness * middle:
                return
            # Give up where the error is surely too large, or nothing is known of some output, or the bounds have come
            # close around something too large.
            close = least > 0.8**self.p * total and middle**self.p > good_enough
            if least > good_enough or not np.isfinite(self.cells.low).all() or close:
                return
            cell, group = self._worst()
            cost = 2 ** (self.level[cell, group] + 1)
            if self.work + int(cost.sum()) > WORK_BOXES:
                return
            self.level[cell, group] += 1
            for one in range(len(self.groups)):
                self._integrate(cell[group == one], one)

    def _worst(self) -> tuple[Integers, Integers]:
        """The cells and groups that make up most of the gap between the bounds."""
        gap = (self.upper - self.lower).ravel()
        gap = np.where(np.isfinite(gap), gap, np.finfo(np.float64).max / gap.size)
        order = np.argsort(-gap)
        share = np.cumsum(gap[order])
        chosen = order[: int(np.searchsorted(share, 0.7 * share[-1])) + 1]
        cell, group = np.unravel_index(chosen, self.upper.shape)
        return np.asarray(cell), np.asarray(group)

    def _integrate(self, which: Integers, group: int) -> None:
        for level in np.unique(self.level[which, group]):
            some = which[self.level[which, group] == level]
            size = max(1, CHUNK_BOXES >> int(level))
            for start in range(0, len(some), size):
                self._integrate_alike(some[start : start + size], group, int(level))

    def _integrate_alike(self, which: Integers, group: int, level: int) -> None:
        rule = self.groups[group]
        low, high = subdivided(self.grid.boxes(self.cells.choice[which]), rule.pieces(level))
        batch, parts, tokens, width = low.shape
        self.work += batch * parts
        ranges = range_on_boxes(self.target, low.reshape(-1, tokens, width), high.reshape(-1, tokens, width))
        f_low, f_high = (end.reshape(batch, parts, -1)[..., rule.entries] for end in ranges)
        g_low, g_high = (
            end[which].reshape(batch, 1, -1)[..., rule.entries] for end in (self.cells.low, self.cells.high)
        )
        with np.errstate(invalid="ignore"):
            most = np.maximum(f_high - g_low, g_high - f_low)
            least = np.maximum(np.maximum(f_low - g_high, g_low - f_high), 0.0)
        most = up(np.where(np.isnan(most), np.inf, most))
        volume = up(np.prod(high - low, axis=(2, 3)))
        self.upper[which, group] = (volume * (most**self.p).sum(axis=2)).sum(axis=1)
        self.lower[which, group] = (volume * (least**self.p).sum(axis=2)).sum(axis=1) * (1 - 2.0**-40)
