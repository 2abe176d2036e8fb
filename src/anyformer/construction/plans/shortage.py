"""Whether a plan stays within the bits of its type, the layers allowed and what a proof may cost."""

from anyformer.certificates.bounds.effort import Cost, Effort, cost_of_proof
from anyformer.construction.grids.budget import narrowest_ramp
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.plans.table_plan import TablePlan
from anyformer.construction.refusal import Resource, Shortage
from anyformer.construction.request import Request


def shortage_of(plan: TablePlan) -> Shortage | None:
    """What a plan needs beyond the limits, if anything."""
    request = plan.request
    if plan.layers > request.max_layers:
        return Shortage(Resource.LAYERS, plan.layers, request.max_layers)
    if plan.id_bits > request.dtype.bits or plan.output_bound < 2 * plan.output_quantum:
        return shortage_of_bits(plan.id_bits, request)
    return shortage_of_ramp(plan.lattice, plan.ramp, request) or _excess(plan.cost, request.effort)


def shortage_of_bits(bits: int, request: Request) -> Shortage:
    """That ids of so many bits are too long, or leave too few for the outputs."""
    return Shortage(Resource.ID_BITS, bits, request.dtype.bits, request.dtype.name)


def shortage_of_ramp(lattice: Lattice, ramp: float, request: Request) -> Shortage | None:
    """Whether ramps would have to be narrower than sums stay exact: a small tolerance to a large power p."""
    narrowest = narrowest_ramp(lattice, request.dtype.bits)
    return Shortage(Resource.RAMP, ramp, narrowest, request.dtype.name) if ramp < narrowest else None


def shortage_to_visit(request: Request, lattice: Lattice) -> Shortage | None:
    """What a proof on the cells of this grid would cost beyond the limits, if anything; layers are not counted."""
    return _excess(cost_of_proof(lattice.counts, lattice.tokens, request.visits), request.effort)


def _excess(cost: Cost, effort: Effort) -> Shortage | None:
    amounts = (
        (Resource.CELLS, cost.cells, effort.cells),
        (Resource.MEMORY, cost.memory, effort.memory),
        (Resource.SECONDS, cost.seconds, effort.seconds),
    )
    return next((Shortage(*amount) for amount in amounts if not amount[1] <= amount[2]), None)
