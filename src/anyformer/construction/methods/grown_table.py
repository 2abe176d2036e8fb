"""Methods whose grid grows cell by cell until its table is close enough; similar values of neighbouring ids merge."""

import bisect
from collections.abc import Iterator
from typing import ClassVar

from anyformer.construction.dyadic import power_of_two_above
from anyformer.construction.grids import budget
from anyformer.construction.grids.growth import error_of_tables, growing_counts
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.grids.sequences import id_count
from anyformer.construction.methods.table_method import TableMethod
from anyformer.construction.plans.layout import MERGE_SHARE, ROUNDING_SHARE, lay_out, most_layers, widest_group
from anyformer.construction.plans.plan import PlannedStage
from anyformer.construction.plans.shortage import shortage_of, shortage_of_bits, shortage_of_ramp, shortage_to_visit
from anyformer.construction.plans.table_plan import ErrorSplit, TablePlan
from anyformer.construction.plans.table_sizes import TableSizes
from anyformer.construction.refusal import Resource, Shortage, rounded_up
from anyformer.construction.request import Request
from anyformer.construction.stages.draft import Draft
from anyformer.construction.stages.value_runs import value_stage
from anyformer.errors import NoCodes
from anyformer.networks.dtypes import FLOAT64
from anyformer.networks.roles import Role

# Ids have too many bits if they leave outputs a grain above this share of the tolerance.
COARSEST = 1 / 8

Counts = tuple[int, ...]


class GrownTable(TableMethod):
    """A table method with any number of cells along each coordinate. Its subclasses say which context map."""

    merges: ClassVar[bool] = True
    """Whether neighbouring ids may share a value, and several ids a layer."""

    def lattice(self, request: Request, counts: Counts) -> Lattice:
        """The grid with so many cells along each coordinate."""
        return Lattice.with_counts(request.target, counts)

    def plan(self, request: Request) -> TablePlan:
        """The coarsest grid that meets the tolerance, or a refusal."""
        self.check_length(request)
        counts, short = self._grown(request)
        if short:
            raise self.refusal(request, short, counts)
        return self._checked(request, counts)

    def _grown(self, request: Request) -> tuple[Counts, Shortage | None]:
        """The counts at which growth ends: close enough to the target, or beyond the limits."""
        counts: Counts = ()
        short = None
        for counts in growing_counts(request, request.tolerance * _table_share(request)):
            counts = _exact_counts(request, counts)
            if short := self.quick_shortage(request, counts):
                break
        return counts, short

    def has_room(self, request: Request) -> bool:
        """Whether its grid fits, and also a finer one, in case the proof needs it."""
        counts, short = self._grown(request)
        return short is None and all(self._grid_fits(request, grid) for grid in (counts, finer_counts(request, counts)))

    def reachable_tolerances(self, request: Request) -> Iterator[float]:
        """The tolerances of the grids met while growing, without the finest that fits: a proof may need a finer one."""
        measure = error_of_tables(request)
        path = []
        for counts in growing_counts(request, 0.0):
            counts = _exact_counts(request, counts)
            if self.quick_shortage(request, counts):
                break
            path.append(
                (rounded_up(measure(Lattice.with_counts(request.target, counts)) / _table_share(request)), counts)
            )
        # Finer grids need more bits and layers, so the grids that fit come first.
        fitting = bisect.bisect_left(
            path, True, key=lambda step: not self._grid_fits(request.but(tolerance=step[0]), step[1])
        )
        for tolerance, _ in reversed(path[: max(fitting - 1, 0)]):
            yield tolerance

    def _grid_fits(self, request: Request, counts: Counts) -> bool:
        try:
            return self.shortage_before_layout(request, counts) is None
        except NoCodes:
            return False

    def finer(self, plan: TablePlan) -> TablePlan:
        """Somewhat more cells along every coordinate."""
        return self._checked(plan.request, finer_counts(plan.request, plan.lattice.counts))

    def plan_with(self, request: Request, counts: Counts) -> TablePlan:
        """The network on a grid of the given counts, whether it fits or not."""
        lattice = self.lattice(request, counts)
        sizes = self.sizes(request, lattice)
        slots = self._slots(request)
        layout = lay_out(request, sizes, slots, self.merges)
        quantum = sizes.quantum(layout.widest)
        grain = sizes.quantum(widest_group(request, sizes, self.merges))
        merged = MERGE_SHARE * request.tolerance if layout.layers * slots < id_count(lattice) else 0.0
        return TablePlan(
            request=request,
            method=self,
            lattice=lattice,
            ramp=budget.ramp_width(request, lattice, sizes.bound),
            output_bound=sizes.bound,
            output_quantum=quantum,
            stages=self._planned_stages(request, sizes, layout.layers),
            ids=id_count(lattice),
            id_bits=sizes.context.largest_id.bit_length(),
            error=_error(request, lattice, grain * request.entries_scale / 2 + merged),
            values=layout,
        )

    def values(self, plan: TablePlan, sizes: TableSizes) -> list[Draft]:
        """One layer a group of runs."""
        assert plan.values is not None
        return [value_stage(plan.values, plan.request.table_hidden_size // 2, plan.lattice.cell_width, sizes.lift)]

    def quick_shortage(self, request: Request, counts: Counts) -> Shortage | None:
        """What a grid needs beyond the limits, as far as a few integers tell."""
        lattice = self.lattice(request, counts)
        layers = id_count(lattice) // self._slots(request)
        if id_count(lattice) > request.max_layers * self._slots(request):
            return Shortage(Resource.LAYERS, layers, request.max_layers)
        return shortage_to_visit(request, lattice)

    def shortage_before_layout(self, request: Request, counts: Counts) -> Shortage | None:
        """Like `quick_shortage`, with bits and the most layers a layout can have: if there is none, a plan fits."""
        if short := self.quick_shortage(request, counts):
            return short
        lattice = self.lattice(request, counts)
        sizes = self.sizes(request, lattice)
        bits = sizes.context.largest_id.bit_length()
        quantum = sizes.quantum(widest_group(request, sizes, self.merges))
        if bits > request.dtype.bits or quantum > COARSEST * request.tolerance or sizes.bound < 2 * quantum:
            return shortage_of_bits(bits, request)
        layers = most_layers(request, sizes, self._slots(request), self.merges)
        layers += sum(stage.layers for stage in self._planned_stages(request, sizes, 0))
        if layers > request.max_layers:
            return Shortage(Resource.LAYERS, layers, request.max_layers)
        return shortage_of_ramp(lattice, budget.ramp_width(request, lattice, sizes.bound), request)

    def _checked(self, request: Request, counts: Counts) -> TablePlan:
        """Bits are counted before anything is listed: ids that are too long could not even be computed."""
        try:
            bits = self.context(request, self.lattice(request, counts)).largest_id.bit_length()
        except NoCodes as error:
            raise self.refusal(request, Shortage(Resource.CODES, detail=str(error)), counts) from None
        if bits > request.dtype.bits:
            raise self.refusal(request, shortage_of_bits(bits, request), counts)
        made = self.plan_with(request, counts)
        short = shortage_of(made)
        if short is None and made.output_quantum > COARSEST * request.tolerance:
            short = shortage_of_bits(made.id_bits, request)
        if short:
            raise self.refusal(request, short, counts)
        return made

    def _slots(self, request: Request) -> int:
        """How many runs of ids a layer of the value map serves."""
        return request.table_hidden_size // 2 if self.merges else 1

    def _planned_stages(self, request: Request, sizes: TableSizes, layers: int) -> tuple[PlannedStage, ...]:
        before = sizes.before_values(sizes.lattice.cell_width / 4, request.table_hidden_size)
        values = PlannedStage("value map", Role.VALUE, "feed_forward", layers)
        return (*map(PlannedStage.of, before), values, *map(PlannedStage.of, sizes.after_values()))


def _table_share(request: Request) -> float:
    """What is left of the tolerance for the table itself."""
    return (1 - MERGE_SHARE - ROUNDING_SHARE) * (1 - budget.ramp_share(request))


def finer_counts(request: Request, counts: Counts) -> Counts:
    """About a tenth more cells along every coordinate."""
    return _exact_counts(request, tuple(count + max(1, count // 10) for count in counts))


def _exact_counts(request: Request, counts: Counts) -> Counts:
    """Counts by which the input is scaled without rounding, if walls between cells are not much wider than that.

    That is so in float32, where ramps are a few ulps wide: an input beside a wall might be rounded across it.
    """
    if request.dtype == FLOAT64:
        return counts
    return tuple(int(power_of_two_above(count)) for count in counts)


def _error(request: Request, lattice: Lattice, rounding: float) -> ErrorSplit:
    p, tolerance = request.p, request.tolerance
    variation = error_of_tables(request)(lattice)
    ramps = (budget.ramp_share(request) * tolerance**p) ** (1 / p)
    total = ((variation + rounding) ** p + ramps**p) ** (1 / p)
    return ErrorSplit(variation, 0.0, rounding, ramps, float(total))
