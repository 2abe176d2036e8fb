"""What a construction will be before it is built: sizes, bits and where the error goes."""

import math
from dataclasses import dataclass, field

from anyformer.construction.lattice import Lattice
from anyformer.construction.value_runs import Runs
from anyformer.networks.layers import BlockShape
from anyformer.networks.probability_maps import Softmax, Weighting
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
    weighting: Weighting = field(default_factory=Softmax)
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
        """A rough guess of the time to build and prove, from prices measured on one machine.

        A price per layer, per token of every cell in every attention layer, and per box that a cell is cut into.
        """
        tokens = self.lattice.tokens
        following = self.layers * 5e-6 + (3 + self.attention_layers) * self.cells_to_prove * tokens * 4e-6
        boxes = min(self.cells * 8.0**tokens, 2.0**25)
        return 0.5 + following + boxes * tokens * 1.5e-6

    @property
    def cells_to_prove(self) -> int:
        """Cells the checker walks through: up to the order of the tokens where there are no positions."""
        if self.lattice.has_positions:
            return self.cells
        return math.comb(self.lattice.columns + self.lattice.tokens - 1, self.lattice.tokens)
