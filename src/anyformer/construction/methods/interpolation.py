"""Interpolate between the function's values on a grid: any continuous function of few inputs, however it is written."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anyformer.certificates.interpolation.bound import (
    InterpolationBound,
    box_limit,
    cell_count,
    interpolation_bound,
)
from anyformer.certificates.interpolation.error_bound import interpolation_evidence, knowledge_of
from anyformer.certificates.interpolation.knowledge import Knowledge
from anyformer.construction.compiling.budget import Budget
from anyformer.construction.compiling.narrowing import Limits, narrowed
from anyformer.construction.compiling.rounding import check_lost, in_type, proved_error
from anyformer.construction.compiling.schedule import needed
from anyformer.construction.compiling.writer import Writer
from anyformer.construction.plans.interpolation_plan import InterpolationPlan
from anyformer.construction.plans.plan import Construction, Method, PlannedStage
from anyformer.construction.refusal import Fit, Refusal, Resource, Shortage, rounded_up
from anyformer.construction.request import Request
from anyformer.errors import AnyformerError, PlanError
from anyformer.networks.dtypes import FLOAT64
from anyformer.networks.probability_maps import Softmax
from anyformer.programs.kuhn import MOST_AXES, MOST_NODES, Interpolant, interpolant, node_count, program_of
from anyformer.programs.ranges import Ranges
from anyformer.targets.domains import CompactSupport

# Of the tolerance, this share is left for rounding, and for cells that are worse than those of a sample.
SPARE = 2.0**-5
# Cells on which a proof is tried while a plan is made.
SAMPLE = 48
# As tight as the goal, and no tighter.
LOOSE = 2.0**64
# Tables this small are worth comparing with a compiled network, and planned in no time.
FEW_NODES, FEW_AXES = 16, 3
# And only if so few boxes prove them.
FEW_BOXES = 256
# Points at which the error of such a table is seen, and how far below the tolerance it must be there.
LOOKS, MARGIN = 256, 0.7


@dataclass(frozen=True)
class Interpolation(Method):
    """Gather all tokens, and interpolate on Kuhn's triangulation of a grid. The error is proved in the sup norm."""

    name: ClassVar[str] = "interpolation"

    def plan(self, request: Request) -> InterpolationPlan:
        """The coarsest grid whose interpolation error is small enough, as far as a sample of its cells tells."""
        _check(request)
        return self._first_fitting(request, _Trials.of(request), 1)

    def finer(self, plan: InterpolationPlan) -> InterpolationPlan:
        """More cells along every axis."""
        return self._first_fitting(plan.request, _Trials.of(plan.request), plan.cells + 1)

    def _first_fitting(self, request: Request, trials: "_Trials", cells: int) -> InterpolationPlan:
        while node_count(request.target, cells) <= MOST_NODES:
            found = trials.tried(cells)
            if found.upper <= trials.goal:
                planned = self._planned(request, trials, cells, found)
                if planned.layers > request.max_layers:
                    raise Refusal(self.name, Shortage(Resource.LAYERS, planned.layers, request.max_layers)).error()
                return planned
            cells = max(cells + 1, trials.hopeless_below(cells, found))
        raise self._refusal(request, trials, cells)

    def _planned(self, request: Request, trials: "_Trials", cells: int, found: InterpolationBound) -> InterpolationPlan:
        program = program_of(trials.tables[cells])
        ranges = Ranges(program)
        budget = Budget(program, ranges, needed(program, ranges.roots), trials.goal)
        written = narrowed(Writer(program, ranges, budget).write(), program, Limits(request.heads, request.hidden_size))
        written = in_type(written, request.dtype, self.name)
        if request.dtype != FLOAT64:
            check_lost(proved_error(written, program, self.name), trials.goal, request.dtype, self.name)
        if (layers := written.network.layer_count) > request.max_layers:
            raise Refusal(self.name, Shortage(Resource.LAYERS, layers, request.max_layers)).error()
        stages = tuple(PlannedStage(stage.name, stage.role, stage.kind, len(stage)) for stage in written.network.stages)
        return InterpolationPlan(
            request=request,
            method=self,
            stages=stages,
            program=program,
            goal=trials.goal,
            shares={},
            written=written,
            cells=cells,
            expected_error=found.upper,
            expected_boxes=found.boxes * trials.scale(cells),
        )

    def build(self, plan: InterpolationPlan) -> Construction:
        """The network that planning wrote."""
        return Construction(plan, plan.written.network, hints=plan.written.hints, cells=plan.cells)

    def surely_fits(self, request: Request) -> bool:
        """Whether a small table is well within the tolerance at random points, and quickly proved to be within it."""
        try:
            _check(request)
            cells = _few_cells(request)
            if cells < 1:
                return False
            table = interpolant(request.target, cells)
            if _seen(table, request) > MARGIN * _goal(request):
                return False
            knowledge = knowledge_of(request.target, interpolation_evidence(request.target))
            return interpolation_bound(table, knowledge, _goal(request), LOOSE, FEW_BOXES).upper <= _goal(request)
        except AnyformerError:
            return False

    def _refusal(self, request: Request, trials: "_Trials", cells: int) -> PlanError:
        """With the tolerance that the finest grid would meet."""
        short = Shortage(Resource.NODES, node_count(request.target, cells), MOST_NODES)
        finest = max(n for n in range(1, cells) if node_count(request.target, n) <= MOST_NODES)
        met = trials.tried(finest).upper
        if not math.isfinite(met):
            return Refusal(self.name, short, Fit(), request, (cells,) * request.target.width).error()
        tolerance = rounded_up(1.25 * met / (1 - SPARE) * request.entries_scale)
        fit = Fit(tolerance=tolerance if tolerance > request.tolerance else None)
        return Refusal(self.name, short, fit, request, (cells,) * request.target.width).error()


@dataclass(frozen=True, eq=False)
class _Trials:
    """Proofs on samples of the cells, for tables of several sizes."""

    request: Request
    knowledge: Knowledge
    goal: float
    tables: dict[int, Interpolant]

    @classmethod
    def of(cls, request: Request) -> "_Trials":
        target = request.target
        return cls(request, knowledge_of(target, interpolation_evidence(target)), _goal(request), {})

    def tried(self, cells: int) -> InterpolationBound:
        """The bound on a sample of the cells, with the sample's share of all boxes."""
        table = self.tables.setdefault(cells, interpolant(self.request.target, cells))
        target = self.request.target
        most = min(self.request.effort.cells, box_limit(target.tokens * target.width))
        share = max(int(most / self.scale(cells)), SAMPLE)
        start = None
        if self.scale(cells) > 1:
            start = np.random.default_rng(cells).integers(0, cells, (SAMPLE, target.tokens, target.width))
        return interpolation_bound(table, self.knowledge, self.goal, LOOSE, share, start)

    def scale(self, cells: int) -> float:
        """How many times as many cells there are as in a sample."""
        is_symmetric = self.knowledge.is_symmetric and self.tables[cells].is_equivariant
        return max(cell_count(self.tables[cells], is_symmetric) / SAMPLE, 1.0)

    def hopeless_below(self, cells: int, found: InterpolationBound) -> int:
        """Errors of smooth functions fall with the square of the cells; an error that was seen says how far to go."""
        return int(0.8 * cells * math.sqrt(found.lower / self.goal)) if found.lower > self.goal else 0


def _goal(request: Request) -> float:
    """The error of every entry that keeps the L^p norm within the tolerance, with some to spare."""
    return request.tolerance / request.entries_scale * (1 - SPARE)


def _few_cells(request: Request) -> int:
    """The most cells an axis of a small table can have."""
    if request.target.tokens * request.target.width > FEW_AXES:
        return 0
    cells = 0
    while node_count(request.target, cells + 1) <= FEW_NODES:
        cells += 1
    return cells


def _seen(table: Interpolant, request: Request) -> float:
    """The largest error at random points of a grid of parts of cells."""
    target, parts = request.target, 64
    points = np.random.default_rng(0).integers(
        0, table.cells * parts + 1, (LOOKS, target.tokens, target.width), dtype=np.int64
    )
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    x = np.clip(low + points / (table.cells * parts) * (high - low), low, high)
    return float(np.abs(target(x) - table.at(points, parts)).max())


def _check(request: Request) -> None:
    target = request.target
    if isinstance(target.domain, CompactSupport):
        raise PlanError(
            "interpolation needs a box as the domain; the target has compact support, and an interpolating network "
            "need not vanish outside of it. Use a box domain, or a table method such as averaging."
        )
    if request.probability_map != Softmax():
        raise PlanError(
            f"interpolation builds softmax networks; got {request.probability_map!r}. Leave the probability map out, "
            f"or take a table method such as averaging."
        )
    axes = target.tokens * target.width
    if axes > MOST_AXES or node_count(target, 1) > MOST_NODES:
        raise PlanError(
            f"interpolation takes at most {MOST_AXES} numbers a sequence and {MOST_NODES:,} nodes; {target.name} on "
            f"{target.tokens} tokens of width {target.width} has {axes} and at least {node_count(target, 1):,}. "
            f"Compile the function instead (--method compile), or take fewer tokens."
        )
