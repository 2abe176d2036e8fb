"""Compile the function's own program: a few steps, each easy for a Transformer, whatever the number of tokens."""

from dataclasses import dataclass
from typing import ClassVar

from anyformer.construction.compiling.budget import Budget
from anyformer.construction.compiling.narrowing import Limits, narrowed
from anyformer.construction.compiling.rounding import check_lost, in_type, proved_error
from anyformer.construction.compiling.schedule import needed
from anyformer.construction.compiling.visibility import check_visibility
from anyformer.construction.compiling.writer import Writer
from anyformer.construction.plans.compiled_plan import CompiledPlan
from anyformer.construction.plans.plan import Construction, Method, PlannedStage
from anyformer.construction.refusal import Refusal, Resource, Shortage
from anyformer.construction.request import Request
from anyformer.errors import NotTraceable, PlanError, words_of
from anyformer.networks.dtypes import FLOAT64
from anyformer.networks.probability_maps import Softmax
from anyformer.programs.program import Program
from anyformer.programs.ranges import Ranges
from anyformer.targets.domains import CompactSupport

# Of the tolerance, this share is left for rounding and for what the proof adds.
SPARE = 2.0**-7
# How much less a finer plan asks for.
FINER = 0.9
# How often a plan is made again because roundings take more than was left for them.
ROUNDS = 6


@dataclass(frozen=True)
class Compile(Method):
    """Trace the NumPy function, and lower it step by step. The error is proved in the sup norm."""

    name: ClassVar[str] = "compile"
    is_sparse: ClassVar[bool | None] = None
    uses_modulus: ClassVar[bool] = False

    def plan(self, request: Request) -> CompiledPlan:
        """The program, lowered with the fewest hidden units; or a refusal that says which step cannot be."""
        _check(request)
        try:
            planned = self._planned(request, request.program, _largest_error(request) * (1 - SPARE))
            return planned if request.dtype == FLOAT64 else self._with_rounding(planned)
        except NotTraceable as error:
            raise PlanError(f"compile cannot build {request.target.name}: {words_of(error)}.") from error

    def _with_rounding(self, plan: CompiledPlan) -> CompiledPlan:
        """A plan whose steps leave room for the roundings of a narrow type, which hardly depend on their shares."""
        request, allowed = plan.request, plan.goal
        for _ in range(ROUNDS):
            error = proved_error(plan.written, plan.program, self.name)
            if error <= allowed:
                break
            lost = error - plan.goal
            check_lost(lost, allowed, request.dtype, self.name)
            plan = self._planned(request, plan.program, (allowed - lost) * (1 - SPARE))
        return plan

    def _planned(self, request: Request, program: Program, goal: float) -> CompiledPlan:
        ranges = Ranges(program)
        budget = Budget(program, ranges, needed(program, ranges.roots), goal)
        written = Writer(program, ranges, budget, request.sparsity).write()
        written = narrowed(written, program, Limits(request.heads, request.hidden_size))
        check_visibility(written, program)
        written = in_type(written, request.dtype, self.name)
        if (layers := written.network.layer_count) > request.max_layers:
            raise Refusal(self.name, Shortage(Resource.LAYERS, layers, request.max_layers)).error()
        stages = tuple(PlannedStage(stage.name, stage.role, stage.kind, len(stage)) for stage in written.network.stages)
        return CompiledPlan(
            request=request,
            method=self,
            stages=stages,
            program=program,
            goal=goal,
            shares=dict(budget.shares),
            written=written,
        )

    def finer(self, plan: CompiledPlan) -> CompiledPlan:
        """The same program with a tenth less for its steps."""
        return self._planned(plan.request, plan.program, plan.goal * FINER)

    def build(self, plan: CompiledPlan) -> Construction:
        """The network that planning wrote."""
        return Construction(plan, plan.written.network, hints=plan.written.hints)

    def surely_fits(self, request: Request) -> bool:
        """Whether it can be compiled; trying is quick."""
        self.plan(request)
        return True


def _largest_error(request: Request) -> float:
    """The error of every entry that keeps the L^p norm within the tolerance."""
    return request.tolerance / request.entries_scale


def _check(request: Request) -> None:
    if isinstance(request.target.domain, CompactSupport):
        raise PlanError(
            "compile needs a box as the domain; the target has compact support, and a compiled network need not vanish "
            "outside of it. Use a box domain, or a table method such as averaging."
        )
    if request.probability_map != Softmax():
        raise PlanError(
            f"compile builds softmax networks; got {request.probability_map!r}. Leave the probability map out, or take "
            f"a table method such as averaging."
        )
