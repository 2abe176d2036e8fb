"""How long the cells of a grid will take to cut, from a small proof on a few of them."""

import math
import time
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.certificates.bounds.cells import CellBatch
from anyformer.certificates.bounds.effort import WORK_BOXES
from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.bounds.interval_bound import forget
from anyformer.certificates.bounds.job import Job
from anyformer.certificates.bounds.powers import unit_for
from anyformer.certificates.bounds.refinement import Goal, lowered
from anyformer.certificates.propagation.enclosures import Enclosure
from anyformer.construction.grids.growth import most_inputs, safety
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.grids.proof_grid import proof_grid
from anyformer.construction.grids.tables import cell_values, sampled_error
from anyformer.construction.request import Request
from anyformer.networks.layers import BlockShape
from anyformer.networks.network import Network

SAMPLED_CELLS, POINTS = 192, 64
# Boxes that the small proof may cut its cells into: a fraction of a second for most functions.
MOST_BOXES = 1 << 17


def cutting_seconds(request: Request, lattice: Lattice, ramp: float) -> float:
    """The time that a few cells take, each as the proof will cut it, times the number of cells, on one core."""
    if request.evidence is Evidence.MODULUS:
        return 0.0
    job = _SampledCells.of(request, lattice, ramp)
    # As much of the tolerance as these cells have of the error: what is left between the two decides how fine to cut.
    truth = sampled_error(request.target, lattice, request.p)
    allowed = (request.tolerance / job.unit * (job.error() / truth if truth else 1.0)) ** request.p
    goal, share = Goal(lambda low, high: allowed, request.tightness), len(job.codes) / job.count
    start = time.perf_counter()
    try:
        _, sums = lowered(job, goal, [(0, len(job.codes))], most_boxes=MOST_BOXES)
    finally:
        forget()
    seconds = (time.perf_counter() - start) / share
    more = 1.0 if goal.is_met(sums, share) else _times_as_many(request, sums.upper / share, allowed)
    return seconds * max(1.0, min(more, WORK_BOXES * share / sums.boxes))


def _times_as_many(request: Request, upper: float, allowed: float) -> float:
    """How many times as many boxes are needed to halve, and halve again, what the bound has above the truth.

    With k inputs, boxes of half the size are 2^k times as many. Only the boxes that matter are cut: about 2^(k − 1)
    times as many, by what was measured. The truth is about as far below what is allowed as plans aim at.
    """
    upper, allowed = upper ** (1 / request.p), allowed ** (1 / request.p)
    truth = allowed / safety(request)
    inputs = most_inputs(request.target)
    # By slopes, boxes of half the size leave a quarter.
    power = inputs / 2 if request.has_slopes else max(inputs - 1, 1)
    return float(((upper - truth) / (allowed - truth)) ** power)


@dataclass(frozen=True, eq=False)
class _SampledCells(Job):
    """A few cells at random, on which the network is taken to be the table."""

    codes: Integers = None  # type: ignore[assignment]
    values: Array = None  # type: ignore[assignment]

    @classmethod
    def of(cls, request: Request, lattice: Lattice, ramp: float) -> "_SampledCells":
        """The same cells for the same grid."""
        shape = (min(SAMPLED_CELLS, lattice.columns**lattice.tokens), lattice.tokens)
        codes = np.random.default_rng(3).integers(0, lattice.columns, shape)
        grid = proof_grid(lattice, min(ramp, lattice.cell_width / 4))
        network = Network(lattice.tokens, lattice.width, BlockShape(), ())
        unit = unit_for(request.tolerance)
        values = cell_values(request.target, lattice, codes)
        return cls(network, request.target, grid, request.p, False, unit, codes, values)

    def error(self) -> float:
        """The L^p error of the table, by points of these cells alone."""
        _, boxes, values = self.followed((0, len(self.codes)))
        at = np.random.default_rng(5).random((POINTS, *boxes.low.shape))
        x = (boxes.low + at * (boxes.high - boxes.low)).reshape(-1, *boxes.low.shape[1:])
        gaps = np.abs(self.target(x).reshape(at.shape) - values.low) ** self.p
        volume = self.target.domain.volume(self.target.tokens, self.target.width)
        return float((gaps.sum(axis=(2, 3)).mean() * volume) ** (1 / self.p))

    @property
    def count(self) -> int:
        """All cells of the grid: the sample is a share of them."""
        return int(math.prod(self.grid.cells_per_axis) ** self.target.tokens)

    def followed(self, chunk: tuple[int, int]) -> tuple[CellBatch, Enclosure, Enclosure]:
        """Cells, their boxes, and the table's values."""
        some = slice(*chunk)
        # The code of a column counts its first coordinate fastest, which unravel_index does from the back.
        numbers = np.unravel_index(self.codes[some], tuple(reversed(self.grid.cells_per_axis)))
        choice = np.stack(numbers[::-1], axis=-1).astype(np.int64)
        batch = CellBatch(self.codes[some], choice, np.ones(len(choice)), np.zeros(len(choice), dtype=bool))
        return batch, self.grid.boxes(choice), Enclosure.box(self.values[some], self.values[some])
