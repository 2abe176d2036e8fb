"""The work of a proof, cut into chunks of cells, and the sums that each chunk contributes.

The chunks depend on the job alone, never on the workers. A chunk fits in memory, however many chunks there are.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.bounds.cells import CellBatch, Grid, cells_between, count_cells
from anyformer.certificates.bounds.effort import CHUNK_BYTES, Effort, Visits, cell_bytes, check_cost, cost_of_proof
from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.propagation.enclosures import Enclosure
from anyformer.certificates.propagation.propagate import before_mixing, propagate_stages, with_positions
from anyformer.networks.network import Network
from anyformer.targets.target import Symmetry, Target

# A chunk has about a 32nd of all cells, but no fewer and no more than this, counted in every order of their tokens.
CHUNKS, LEAST, MOST = 32, 1 << 9, 1 << 15
# The parts that the bound on the cells is made of.
PARTS = ("cells", "coincidence")


@dataclass(frozen=True, eq=False)
class Job:
    """A network, the function it should be, and the cells on which to compare them in L^p, with errors in some unit.

    Up to order, one cell is followed for all its rearrangements: a network without positions permutes with its input.
    """

    network: Network
    target: Target
    grid: Grid
    p: float
    up_to_order: bool
    unit: float = 1.0

    @property
    def count(self) -> int:
        """Cells to follow."""
        return count_cells(math.prod(self.grid.cells_per_axis), self.target.tokens, self.up_to_order)

    def chunks(self) -> list[tuple[int, int]]:
        """All cells by their numbers, as ranges."""
        tokens, width = self.target.tokens, self.target.width
        orders = math.factorial(tokens) if self.up_to_order else 1
        most = min(MOST, max(1, CHUNK_BYTES // cell_bytes(tokens, width)))
        size = max(1, min(max(-(-self.count // CHUNKS), LEAST // orders), most // orders))
        return [(start, min(start + size, self.count)) for start in range(0, self.count, size)]

    def followed(self, chunk: tuple[int, int]) -> tuple[CellBatch, Enclosure, Enclosure]:
        """Cells, their boxes, and what the network returns on them."""
        batch = cells_between(self.grid, self.target.tokens, self.up_to_order, *chunk)
        tokens = self._columns[batch.codes, np.arange(self.target.tokens)]
        mixing = range(len(before_mixing(self.network)), len(self.network.stages))
        return batch, self.grid.boxes(batch.choice), propagate_stages(self.network, mixing, tokens)

    @cached_property
    def _columns(self) -> Enclosure:
        """Every column as every token, followed until tokens are mixed: all cells are made of these."""
        boxes = self.grid.boxes(np.repeat(self.grid.columns[:, None], self.target.tokens, axis=1))
        return propagate_stages(self.network, before_mixing(self.network), with_positions(self.network, boxes))


def visits_of(network: Network, target: Target, evidence: Evidence) -> Visits:
    """Without positions the network permutes with its input: one order of each cell is enough for g.

    With a modulus, f too is evaluated in that order only, so its symmetry must have been declared.
    """
    if not network.is_equivariant:
        return Visits.EVERY_ORDER
    if evidence is Evidence.UNCONDITIONAL:
        return Visits.TARGET_IN_EVERY_ORDER
    return Visits.ONCE if target.symmetry is Symmetry.EQUIVARIANT else Visits.EVERY_ORDER


def check_effort(network: Network, target: Target, grid: Grid, evidence: Evidence, effort: Effort) -> None:
    """Raise TooMuch unless the proof stays within the effort."""
    cost = cost_of_proof(
        grid.cells_per_axis,
        target.tokens,
        visits_of(network, target, evidence),
        network.layer_count,
        network.attention_layer_count,
        network.parameter_count,
    )
    check_cost(cost, effort)


@dataclass(frozen=True, eq=False)
class Sums:
    """p-th powers on some cells by name, a lower bound of the error's, where most of that lies, and the range of f.

    Powers are of errors in the job's unit.
    """

    parts: dict[str, float]
    lower: float
    worst: float
    worst_input: Array
    f_low: Array
    f_high: Array
    boxes: int = 0
    gap_per_box: float = 0.0
    is_known: bool = True
    """Whether something finite is known of every output."""
    by_slopes: bool = False
    """Whether boxes were bounded by slopes: the bounds then come close to each other fast."""

    @property
    def upper(self) -> float:
        """The bound on ∫‖f − g‖^p over these cells."""
        return sum(self.parts[name] for name in PARTS)


def together(sums: list[Sums]) -> Sums:
    """Add up what chunks contribute, in their order."""
    worst = max(sums, key=lambda one: one.worst)
    return Sums(
        parts={name: math.fsum(one.parts[name] for one in sums) for name in sums[0].parts},
        lower=math.fsum(one.lower for one in sums),
        worst=worst.worst,
        worst_input=worst.worst_input,
        f_low=np.min([one.f_low for one in sums], axis=0),
        f_high=np.max([one.f_high for one in sums], axis=0),
        boxes=sum(one.boxes for one in sums),
        gap_per_box=max(one.gap_per_box for one in sums),
        is_known=all(one.is_known for one in sums),
        by_slopes=any(one.by_slopes for one in sums),
    )
