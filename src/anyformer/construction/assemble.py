"""From a plan to networks: the hard one of the proof and the soft one that is a real Transformer."""

from dataclasses import dataclass

from anyformer.certificates.bounds.cells import Grid
from anyformer.construction.grids.proof_grid import proof_grid
from anyformer.construction.plans.plan import Plan
from anyformer.construction.stages.soften import padded, soften
from anyformer.networks.layers import BlockShape, FeedForwardStage
from anyformer.networks.network import Network


@dataclass(frozen=True, eq=False)
class Construction:
    """A plan carried out, not yet proved: both networks, and the cells on which they should be constant."""

    plan: Plan
    hard_network: Network
    network: Network
    grid: Grid


def build(plan: Plan) -> Construction:
    """Carry out a plan."""
    request, lattice, shape = plan.request, plan.lattice, plan.shape
    drafts = plan.method.stages(plan)
    hard_size = max(draft.stage.sizes.get("hidden_size", 1) for draft in drafts)
    hard = tuple(
        padded(draft.stage, hard_size) if isinstance(draft.stage, FeedForwardStage) else draft.stage for draft in drafts
    )
    soft = tuple(soften(draft, shape.hidden_size, request.probability_map) for draft in drafts)
    sizes, places = (lattice.tokens, lattice.width), (lattice.positional_encoding, request.sparsity)
    hard_network = Network(*sizes, BlockShape(shape.heads, shape.head_size, hard_size), hard, *places)
    return Construction(plan, hard_network, Network(*sizes, shape, soft, *places), proof_grid(lattice, plan.ramp))
