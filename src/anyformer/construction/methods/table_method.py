"""Methods that work with a table: quantise, give every token of every sequence an id, then a value to every id."""

import math
from abc import abstractmethod
from collections.abc import Iterator

from anyformer.certificates.bounds.powers import MOST_P
from anyformer.construction.contexts.context_map import ContextMap
from anyformer.construction.dyadic import power_of_two_above
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.plans.fitting import fit_for
from anyformer.construction.plans.plan import Construction, Method
from anyformer.construction.plans.shortage import shortage_to_visit
from anyformer.construction.plans.table_network import table_networks
from anyformer.construction.plans.table_plan import TablePlan
from anyformer.construction.plans.table_sizes import TableSizes
from anyformer.construction.refusal import Refusal, Shortage
from anyformer.construction.request import LEAST_HIDDEN, TABLE_HEADS, Request
from anyformer.construction.stages.draft import Draft
from anyformer.errors import PlanError
from anyformer.networks.dtypes import FLOAT32, FLOAT64
from anyformer.targets.domains import CompactSupport


class TableMethod(Method):
    """What all methods with tables share. They differ in their context map, their grids and how values are given."""

    @abstractmethod
    def context(self, request: Request, lattice: Lattice) -> ContextMap:
        """How columns become ids on this grid."""

    @abstractmethod
    def values(self, plan: TablePlan, sizes: TableSizes) -> list[Draft]:
        """The stages that give values to ids."""

    @abstractmethod
    def reachable_tolerances(self, request: Request) -> Iterator[float]:
        """Tolerances that some grid within the limits should meet, from the smallest up."""

    @abstractmethod
    def has_room(self, request: Request) -> bool:
        """Whether a plan surely fits; asked only where sequences are not too long."""

    def surely_fits(self, request: Request) -> bool:
        """Whether a plan is known to fit before it is made."""
        return (
            request.p < math.inf
            and request.dtype in (FLOAT64, FLOAT32)
            and _smaller(request) is None
            and _too_long(request) is None
            and self.has_room(request)
        )

    def build(self, plan: TablePlan) -> Construction:
        """Both networks of a plan."""
        return table_networks(plan, self.stages(plan))

    def stages(self, plan: TablePlan) -> list[Draft]:
        """Quantise, make ids, give values, tidy up."""
        sizes = self.sizes(plan.request, plan.lattice)
        return [
            *sizes.before_values(plan.ramp, plan.request.table_hidden_size),
            *self.values(plan, sizes),
            *sizes.after_values(),
        ]

    def sizes(self, request: Request, lattice: Lattice) -> TableSizes:
        """Everything that follows from the grid alone."""
        # A function that is 0 still needs a clip somewhere; a fraction of the tolerance will do.
        bound = power_of_two_above(max(request.reach, request.tolerance * 2.0**-10))
        return TableSizes(lattice, self.context(request, lattice), bound, request.dtype.bits)

    def check_length(self, request: Request) -> None:
        """Refuse, before anything is sampled, what no table can do: the sup norm, and sequences so long that two cells
        a token are too many to visit; and blocks smaller than a table's."""
        if request.p == math.inf:
            raise PlanError(
                f"{self.name} needs a finite p, at most {MOST_P:g}; got inf. Between its cells a table's network runs "
                f"through thin ramps from one value to the next, where its largest error is as large as the step. "
                f"Compile the function instead (--method compile), or ask for an L^p norm (--p 2)."
            )
        if request.dtype not in (FLOAT64, FLOAT32):
            raise PlanError(
                f"{self.name} builds in float64 and float32; got {request.dtype}. Ids have too few bits in it: compile "
                f"the function (--method compile), or take a wider type (--dtype)."
            )
        if request.dtype != FLOAT64 and isinstance(request.target.domain, CompactSupport):
            raise PlanError(
                f"{self.name} builds a target with compact support in float64 alone, whose range it needs to send "
                f"every input outside to 0; got {request.dtype}. Use a box domain, or build in float64."
            )
        if smaller := _smaller(request):
            name, least, given = smaller
            raise PlanError(
                f"{name} must be at least {least} for {self.name}; got {given}. Give a larger {name}, or compile the "
                f"function (--method compile), whose layers may be as narrow as you like."
            )
        if short := _too_long(request):
            fit = fit_for(self, request, iter(()))
            raise Refusal(self.name, short, fit, request, _coarsest(request).counts).error()

    def refusal(self, request: Request, shortage: Shortage, counts: tuple[int, ...]) -> PlanError:
        """An error with the request, why it cannot be met, and what would fit."""
        fit = fit_for(self, request, self.reachable_tolerances(request))
        return Refusal(self.name, shortage, fit, request, counts).error()


def _coarsest(request: Request) -> Lattice:
    """The grid with two cells, along the first coordinate."""
    return Lattice.with_counts(request.target, (2,) + (1,) * (request.target.width - 1))


def _smaller(request: Request) -> tuple[str, int, int] | None:
    """The limit that is below what a table's blocks have, if there is one: its name, the least, and what was given."""
    limits = (("heads", TABLE_HEADS, request.heads), ("hidden_size", LEAST_HIDDEN, request.hidden_size))
    return next(((name, least, most) for name, least, most in limits if most is not None and most < least), None)


def _too_long(request: Request) -> Shortage | None:
    return shortage_to_visit(request, _coarsest(request))
