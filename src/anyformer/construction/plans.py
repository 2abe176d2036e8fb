"""What a construction will be before it is built: sizes, bits and where the error goes."""

from dataclasses import dataclass, field

from anyformer.certificates.effort import Cost, Visits, cost_of_proof
from anyformer.construction.lattice import Lattice
from anyformer.construction.value_runs import Runs
from anyformer.networks.layers import BlockShape
from anyformer.networks.probability_maps import ProbabilityMap, Softmax
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern
from anyformer.targets.target import Target


@dataclass(frozen=True)
class PlannedStage:
    """A stage to be: its name in the proof, its kind and how many layers."""

    name: str
    kind: str
    layers: int


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


@dataclass(frozen=True)
class Plan:
    """All numbers of a construction, decided before anything is built."""

    target: Target
    method: str
    tolerance: float
    p: float
    lattice: Lattice
    ramp: float
    output_bound: float
    output_quantum: float
    stages: tuple[PlannedStage, ...]
    ids: int
    id_bits: int
    error: ErrorSplit
    shape: BlockShape = field(default_factory=BlockShape)
    pattern: PatternFamily | SparsityPattern | None = None
    probability_map: ProbabilityMap = field(default_factory=Softmax)
    values: Runs | None = field(default=None, repr=False)
    """Ids and values, where planning had to find them already."""

    @property
    def layers(self) -> int:
        """Layers of both kinds."""
        return sum(stage.layers for stage in self.stages)

    @property
    def attention_layers(self) -> int:
        """Layers that mix tokens."""
        return sum(stage.layers for stage in self.stages if stage.kind == "attention")

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

    @property
    def bytes_on_disk(self) -> int:
        """Eight bytes a number; headers and the certificate add a few thousand."""
        return 8 * self.parameters

    @property
    def expected_seconds(self) -> float:
        """A rough guess of the time to build and prove."""
        return self._cost_at_most.seconds

    @property
    def expected_memory(self) -> int:
        """Bytes that the proof needs in a process, at most."""
        return self._cost_at_most.memory

    @property
    def _cost_at_most(self) -> Cost:
        return self.cost(Visits.EVERY_ORDER if self.lattice.has_positions else Visits.TARGET_IN_EVERY_ORDER)

    def cost(self, visits: Visits) -> Cost:
        """What its proof will cost."""
        lattice = self.lattice
        return cost_of_proof(
            lattice.counts, lattice.tokens, visits, self.layers, self.attention_layers, self.parameters
        )
