"""From a table's plan to networks: the hard one of the proof and the soft one that is a real Transformer."""

from anyformer.construction.grids.proof_grid import proof_grid
from anyformer.construction.plans.plan import Construction
from anyformer.construction.plans.table_plan import TablePlan
from anyformer.construction.stages.draft import Draft
from anyformer.construction.stages.soften import padded, soften
from anyformer.networks.layers import BlockShape, FeedForwardStage
from anyformer.networks.network import Network, cast


def table_networks(plan: TablePlan, drafts: list[Draft]) -> Construction:
    """Carry out a plan whose stages have been drafted."""
    request, lattice, shape = plan.request, plan.lattice, plan.shape
    hard_size = max(draft.stage.sizes.get("hidden_size", 1) for draft in drafts)
    hard = tuple(
        padded(draft.stage, hard_size) if isinstance(draft.stage, FeedForwardStage) else draft.stage for draft in drafts
    )
    soft = tuple(soften(draft, shape.hidden_size, request.probability_map) for draft in drafts)
    sizes, places = (lattice.tokens, lattice.width), (lattice.positional_encoding, request.sparsity)
    hard_network = Network(*sizes, BlockShape(shape.heads, shape.head_size, hard_size), hard, *places)
    # Every weight is a number of the type already, if its plan has counted bits right; the proof will tell.
    network = cast(Network(*sizes, shape, soft, *places), request.dtype)
    return Construction(plan, network, proof_grid(lattice, plan.ramp), hard_network)
