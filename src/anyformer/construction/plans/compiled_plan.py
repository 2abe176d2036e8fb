"""The plan of a compiled network. Compiling is quick, so the plan holds the weights already; only the proof is left."""

from dataclasses import dataclass, field

from anyformer.construction.compiling.writer import Written
from anyformer.construction.plans.plan import Plan
from anyformer.networks.layers import BlockShape
from anyformer.programs.forms import Node
from anyformer.programs.program import Program

# Seconds and bytes that planning, proving and measuring take in any case, and for every hidden unit.
SECONDS, SECONDS_A_UNIT = 1.0, 1e-4
MEMORY, MEMORY_A_PARAMETER = 1 << 26, 64


@dataclass(frozen=True, kw_only=True)
class CompiledPlan(Plan):
    """A program, how its tolerance is shared out, and the network that follows."""

    program: Program = field(repr=False)
    goal: float
    """The largest error that the shares add up to."""
    shares: dict[Node, float] = field(repr=False)
    written: Written = field(repr=False)

    def facts(self) -> dict[str, object]:
        """What only a compiled network has."""
        network = self.written.network
        return {"stream width": network.stream_width, "hidden units": network.hidden_unit_count}

    @property
    def planned_error(self) -> float:
        """The goal in the norm that was asked for."""
        return self.goal * self.request.entries_scale

    @property
    def shape(self) -> BlockShape:
        """The largest block."""
        return self.written.network.shape

    @property
    def has_positions(self) -> bool:
        """Whether the program needs positions."""
        return self.written.network.positional_encoding is not None

    @property
    def parameters(self) -> int:
        """Numbers stored."""
        return self.written.network.parameter_count

    @property
    def expected_seconds(self) -> float:
        """Mostly to measure the error."""
        return SECONDS + SECONDS_A_UNIT * self.written.network.hidden_unit_count

    @property
    def expected_memory(self) -> int:
        """A few arrays of the size of the weights."""
        return MEMORY + MEMORY_A_PARAMETER * self.parameters
