"""A plan has all sizes of a network before it is built; a method makes plans, finer plans, and stages from a plan."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from anyformer.certificates.bounds.effort import Cost, cost_of_proof
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.plans.expected_time import cutting_seconds
from anyformer.construction.request import Request
from anyformer.construction.stages.draft import Draft
from anyformer.construction.stages.value_runs import Runs
from anyformer.networks.layers import BlockShape
from anyformer.networks.roles import Role
from anyformer.notebooks import as_table
from anyformer.targets.target import Target


class Method(ABC):
    """A way to build a network. Methods are values: `Averaging()`, `SelectiveShift()`, or your own."""

    name: ClassVar[str]
    """The name on the command line."""
    is_sparse: ClassVar[bool] = False
    """Whether it takes a sparsity pattern."""

    @abstractmethod
    def plan(self, request: Request) -> "Plan":
        """The smallest network that meets the request, or a refusal (PlanError)."""

    @abstractmethod
    def finer(self, plan: "Plan") -> "Plan":
        """A plan with a smaller error, for a proof that just missed the tolerance; or a refusal."""

    @abstractmethod
    def stages(self, plan: "Plan") -> list[Draft]:
        """The network as hard stages in order."""

    def surely_fits(self, request: Request) -> bool:
        """Whether a plan is known to fit before it is made; False where that is not known."""
        return False


@dataclass(frozen=True)
class PlannedStage:
    """A stage to be: its name in the proof, what it is for, its kind and how many layers."""

    name: str
    role: Role
    kind: str
    layers: int

    @classmethod
    def of(cls, draft: Draft) -> "PlannedStage":
        """The stage that a draft will become."""
        stage = draft.stage
        return cls(stage.name, stage.role, stage.kind, len(stage))


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
    """All numbers of a network, decided before anything is built."""

    request: Request
    method: Method
    lattice: Lattice
    ramp: float
    output_bound: float
    output_quantum: float
    stages: tuple[PlannedStage, ...]
    ids: int
    id_bits: int
    error: ErrorSplit
    values: Runs | None = field(default=None, repr=False)
    """Ids and values, if planning had to find them."""

    def _repr_html_(self) -> str:
        request = self.request
        facts = {
            "planned error": self.error.total,
            "asked for": f"{request.tolerance:g} in L^{request.p:g}",
            "method": self.method.name,
            "cells per axis": " × ".join(map(str, self.lattice.counts)),
            "layers": self.layers,
            "attention layers": self.attention_layers,
            "parameters": self.parameters,
            "bits of an id": self.id_bits,
        }
        return as_table(
            f"Plan for {self.target.name} on {self.target.tokens} tokens of width {self.target.width}", facts
        )

    @property
    def target(self) -> Target:
        """What is approximated."""
        return self.request.target

    @property
    def shape(self) -> BlockShape:
        """Heads, their size, and hidden units of every block."""
        return BlockShape(hidden_size=self.request.hidden_size)

    @property
    def layers(self) -> int:
        """Layers of both kinds."""
        return sum(stage.layers for stage in self.stages)

    @property
    def attention_layers(self) -> int:
        """Layers that mix tokens."""
        return sum(stage.layers for stage in self.stages if stage.kind == "attention")

    @property
    def connections(self) -> int:
        """Pairs of tokens that an attention layer connects, in the layer that has most."""
        pattern = self.request.sparsity
        return self.lattice.tokens**2 if pattern is None else max(seen.connections for seen in pattern.seen)

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
