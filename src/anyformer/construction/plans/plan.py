"""A plan has all sizes of a network before it is proved; a method makes plans, finer plans, and networks from plans."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from anyformer.certificates.bounds.cells import Grid
from anyformer.certificates.programs.hints import Hint
from anyformer.construction.request import Request
from anyformer.construction.stages.draft import Draft
from anyformer.networks.layers import BlockShape
from anyformer.networks.network import Network
from anyformer.networks.roles import Role
from anyformer.notebooks import as_table
from anyformer.targets.target import Target


class Method(ABC):
    """A way to build a network. Methods are values: `Compile()`, `Averaging()`, or your own."""

    name: ClassVar[str]
    """The name on the command line."""
    is_sparse: ClassVar[bool | None] = False
    """Whether it takes a sparsity pattern; None if it builds with one and without."""
    uses_modulus: ClassVar[bool] = True
    """Whether it may rely on the modulus that a target declares; then that is tested first."""

    @abstractmethod
    def plan(self, request: Request) -> "Plan":
        """The smallest network that meets the request, or a refusal (PlanError)."""

    @abstractmethod
    def finer(self, plan: Any) -> "Plan":
        """A plan with a smaller error, for a proof that just missed the tolerance; or a refusal."""

    @abstractmethod
    def build(self, plan: Any) -> "Construction":
        """Carry out a plan that it made."""

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


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """All numbers of a network, decided before anything is proved. Every kind of method adds its own."""

    request: Request
    method: Method
    stages: tuple[PlannedStage, ...]
    instead_of: str | None = None
    """Why a method that was to be preferred refused, if one did."""

    @property
    def target(self) -> Target:
        """What is approximated."""
        return self.request.target

    @property
    @abstractmethod
    def shape(self) -> BlockShape:
        """Heads, their size, and hidden units of the largest block."""

    @property
    @abstractmethod
    def has_positions(self) -> bool:
        """Whether the network will have positions."""

    @property
    @abstractmethod
    def planned_error(self) -> float:
        """The error to be proved, in the norm that was asked for."""

    @property
    @abstractmethod
    def parameters(self) -> int:
        """Numbers stored."""

    @property
    @abstractmethod
    def expected_seconds(self) -> float:
        """Seconds of one core to build and prove."""

    @property
    @abstractmethod
    def expected_memory(self) -> int:
        """Bytes that the proof needs in a process, at most."""

    @abstractmethod
    def facts(self) -> dict[str, object]:
        """What only plans of this kind have, by name."""

    def _repr_html_(self) -> str:
        request = self.request
        facts = {
            "planned error": self.planned_error,
            "asked for": f"{request.tolerance:g} in L^{request.p:g}",
            "method": self.method.name,
            "layers": self.layers,
            "attention layers": self.attention_layers,
            "parameters": self.parameters,
            **self.facts(),
        }
        return as_table(
            f"Plan for {self.target.name} on {self.target.tokens} tokens of width {self.target.width}", facts
        )

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
        return self.target.tokens**2 if pattern is None else max(seen.connections for seen in pattern.seen)

    @property
    def bytes_on_disk(self) -> int:
        """Eight bytes a number; headers and the certificate add a few thousand."""
        return 8 * self.parameters


@dataclass(frozen=True, eq=False)
class Construction:
    """A plan carried out, not yet proved: the network, and what a proof starts from."""

    plan: Plan
    network: Network
    grid: Grid | None = None
    """The cells on which a table's network should be constant."""
    hard_network: Network | None = field(default=None, repr=False)
    """The network of the papers' proof, with hardmax and jumps, for a table."""
    hints: tuple[Hint, ...] | None = None
    """Which channel should be which step, for a compiled network."""
    cells: int | None = None
    """How many cells an axis has, for a network that interpolates."""
