"""The plan of a table: the grid, the ids and where the error goes."""

from dataclasses import dataclass, field
from functools import cached_property

from anyformer.certificates.bounds.effort import Cost, cost_of_proof
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.plans.expected_time import cutting_seconds
from anyformer.construction.plans.plan import Plan
from anyformer.construction.stages.value_runs import Runs
from anyformer.networks.layers import BlockShape


@dataclass(frozen=True)
class ErrorSplit:
    """Where the error bound goes, as L^p norms; together they stay within the tolerance.

    variation: the target is not constant on cells. coincidence: tokens that share a cell have no ids and are sent to 0.
    rounding: outputs keep only the bits that the ids leave. ramps: the thin walls between cells.
    """

    variation: float
    coincidence: float
    rounding: float
    ramps: float
    total: float


@dataclass(frozen=True, kw_only=True)
class TablePlan(Plan):
    """All numbers of a table's network."""

    lattice: Lattice
    ramp: float
    output_bound: float
    output_quantum: float
    ids: int
    id_bits: int
    error: ErrorSplit
    values: Runs | None = field(default=None, repr=False)
    """Ids and values, if planning had to find them."""

    def facts(self) -> dict[str, object]:
        """What only a table has."""
        return {"cells per axis": " × ".join(map(str, self.lattice.counts)), "bits of an id": self.id_bits}

    @property
    def planned_error(self) -> float:
        """All parts together."""
        return self.error.total

    @property
    def shape(self) -> BlockShape:
        """Heads, their size, and hidden units of every block."""
        return BlockShape(hidden_size=self.request.table_hidden_size)

    @property
    def has_positions(self) -> bool:
        """Whether the network will have positions."""
        return self.lattice.has_positions

    @property
    def cells(self) -> int:
        """Cells of the whole domain."""
        return int(self.lattice.columns**self.lattice.tokens)

    @property
    def parameters(self) -> int:
        """Numbers stored."""
        width, attention = self.lattice.width, self.attention_layers
        positions = self.lattice.tokens * width if self.lattice.has_positions else 0
        return (
            attention * self.shape.attention_parameters(width)
            + (self.layers - attention) * self.shape.feed_forward_parameters(width)
            + positions
        )

    @cached_property
    def expected_seconds(self) -> float:
        """Seconds of one core to build and prove: to follow cells through the network, and to cut them.

        The second is known from cutting a few of them, so that it is not exactly the same twice.
        """
        return self.cost.following_seconds + cutting_seconds(self.request, self.lattice, self.ramp)

    @property
    def expected_memory(self) -> int:
        """Bytes that the proof needs in a process, at most."""
        return self.cost.memory

    @property
    def cost(self) -> Cost:
        """What its proof will cost."""
        lattice = self.lattice
        return cost_of_proof(
            lattice.counts, lattice.tokens, self.request.visits, self.layers, self.attention_layers, self.parameters
        )
