"""Method `selective-shift`: Paper A's construction, with all sizes decided by the error budget."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.construction.contexts.selective_shifts import SelectiveShifts
from anyformer.construction.grids import budget
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.grids.tables import centre_values
from anyformer.construction.methods.table_method import TableMethod
from anyformer.construction.plans.plan import PlannedStage
from anyformer.construction.plans.shortage import shortage_of, shortage_of_bits
from anyformer.construction.plans.table_plan import ErrorSplit, TablePlan
from anyformer.construction.plans.table_sizes import TableSizes
from anyformer.construction.refusal import Resource, Shortage, rounded_up
from anyformer.construction.request import Request
from anyformer.construction.stages.draft import Draft
from anyformer.construction.stages.value_map import round_outputs, value_map
from anyformer.networks.roles import Role

# A refusal states the size that would be needed, unless even counting its columns takes too long.
COUNTABLE = 1 << 10
# In bits: floats end soon above.
LONGEST_IDS = 900


@dataclass(frozen=True)
class SelectiveShift(TableMethod):
    """A dyadic grid, shifts that tell contexts apart, and one layer for every id."""

    name: ClassVar[str] = "selective-shift"

    def context(self, request: Request, lattice: Lattice) -> SelectiveShifts:
        """How columns become ids on this grid."""
        return SelectiveShifts(lattice)

    def plan(self, request: Request) -> TablePlan:
        """The coarsest dyadic grid that meets the tolerance, or a refusal."""
        self.check_length(request)
        *_, (lattice, plan, short) = self._tried(request)
        if plan is None or short:
            raise self.refusal(request, short or _bits(request, lattice), lattice.counts)
        return plan

    def finer(self, plan: TablePlan) -> TablePlan:
        """Half the cell width."""
        half = self.plan_at(plan.request, plan.lattice.cell_width / 2)
        if short := shortage_of(half):
            raise self.refusal(plan.request, short, half.lattice.counts)
        return half

    def has_room(self, request: Request) -> bool:
        """Whether the grid that meets the tolerance fits."""
        *_, (_, plan, short) = self._tried(request)
        return plan is not None and short is None

    def reachable_tolerances(self, request: Request) -> Iterator[float]:
        """What the grids that fit meet, the finest first."""
        for _, plan, short in reversed(list(self._tried(request))):
            if plan is not None and short is None:
                yield rounded_up(_reachable(plan))

    def _tried(self, request: Request) -> Iterator[tuple[Lattice, TablePlan | None, Shortage | None]]:
        """Grids from the coarsest on with what they lack, until one meets the tolerance or none within reach will.

        There is no plan where ids are too large even for a float.
        """
        sides = request.target.domain.highs(request.target.width) - request.target.domain.lows(request.target.width)
        cell_width = 2.0 ** math.ceil(math.log2(float(sides.max())))
        while True:
            cell_width /= 2
            lattice = Lattice.dyadic(request.target, cell_width)
            if short := _too_large(request, lattice):
                yield lattice, None, short
                return
            plan = self.plan_at(request, cell_width)
            short = shortage_of(plan)
            yield lattice, plan, short
            if short and (_would_do(plan) or plan.lattice.columns > COUNTABLE):
                return
            if plan.error.total <= request.tolerance:
                return

    def plan_at(self, request: Request, cell_width: float) -> TablePlan:
        """The network with cells of the given width: sizes by stage and the error it will have."""
        lattice = Lattice.dyadic(request.target, cell_width)
        sizes = self.sizes(request, lattice)
        quantum = sizes.quantum(0)
        return TablePlan(
            request=request,
            method=self,
            lattice=lattice,
            ramp=budget.ramp_width(request, lattice, sizes.bound),
            output_bound=sizes.bound,
            output_quantum=quantum,
            stages=_planned_stages(sizes, request.table_hidden_size),
            ids=lattice.tokens * lattice.sequences,
            id_bits=sizes.context.largest_id.bit_length(),
            error=_error(request, lattice, quantum),
        )

    def values(self, plan: TablePlan, sizes: TableSizes) -> list[Draft]:
        """One layer an id; none if there are fewer columns than tokens: then all tokens are strays."""
        lattice = plan.lattice
        codes = lattice.sequence_codes()
        if not len(codes):
            return []
        cells = (lattice.column_table()[codes] + lattice.slot_cells).reshape(-1, lattice.width)
        outputs = self.table(plan, codes).reshape(-1, lattice.width)
        return [value_map(lattice, cells, sizes.context.ids(codes).ravel(), outputs, sizes.lift)]

    def table(self, plan: TablePlan, codes: Integers) -> Array:
        """f̄: the value of the target at each cell's centre, rounded to the bits that the ids leave."""
        grain = self.sizes(plan.request, plan.lattice).quanta(0)
        return round_outputs(centre_values(plan.target, plan.lattice, codes), grain)


def _too_large(request: Request, lattice: Lattice) -> Shortage | None:
    """What a grid lacks that is too large to be planned: its ids are beyond floats, or its shifts beyond all limits."""
    shifts = lattice.slots * lattice.columns
    if lattice.columns > COUNTABLE and shifts > request.max_layers:
        return Shortage(Resource.LAYERS, shifts, request.max_layers)
    short = _bits(request, lattice)
    return short if short.needed > LONGEST_IDS else None


def _bits(request: Request, lattice: Lattice) -> Shortage:
    return shortage_of_bits(SelectiveShifts(lattice).largest_id.bit_length(), request)


def _would_do(plan: TablePlan) -> bool:
    """Whether the grid is fine enough, apart from the bits of its ids."""
    error, p = plan.error, plan.request.p
    return bool(error.variation**p + error.coincidence**p + error.ramps**p <= plan.request.tolerance**p)


def _reachable(plan: TablePlan) -> float:
    """A tolerance that a plan meets: its error, without the share that the ramps take of the requested tolerance."""
    error, p = plan.error, plan.request.p
    cells = max(error.total**p - error.ramps**p, 0.0)
    return float((cells / (1 - budget.ramp_share(plan.request))) ** (1 / p)) * (1 + 1e-9)


def _planned_stages(sizes: TableSizes, hidden_size: int) -> tuple[PlannedStage, ...]:
    """Count layers by building every stage but the value map, whose layers are its ids."""
    lattice = sizes.lattice
    before = sizes.before_values(lattice.cell_width / 4, hidden_size)
    layers = lattice.tokens * lattice.sequences
    values = [PlannedStage("value map", Role.VALUE, "feed_forward", layers)] if layers else []
    return (*map(PlannedStage.of, before), *values, *map(PlannedStage.of, sizes.after_values()))


def _error(request: Request, lattice: Lattice, quantum: float) -> ErrorSplit:
    """How the error will split, from the modulus if there is one, otherwise from samples."""
    target, p = request.target, request.p
    deviation = budget.deviation(target, lattice, p)
    rounding = np.zeros_like(deviation)
    rounding[:, 0] = quantum / 2
    rounding += target.evaluation_error * (1 + request.reach)
    volume = target.domain.volume(lattice.tokens, lattice.width)
    coincidence = budget.coincidence_power(target, lattice, deviation, p)
    regular = float(volume * ((deviation + rounding) ** p).sum())
    ramps = budget.ramp_share(request) * request.tolerance**p
    return ErrorSplit(
        variation=float((volume * (deviation**p).sum()) ** (1 / p)),
        coincidence=float(coincidence ** (1 / p)),
        rounding=float((volume * (rounding**p).sum()) ** (1 / p)),
        ramps=float(ramps ** (1 / p)),
        total=float((regular + coincidence + ramps) ** (1 / p)),
    )
