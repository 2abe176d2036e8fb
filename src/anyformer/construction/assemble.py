"""From a plan to networks: the hard one the proof speaks of and the soft one that is a real Transformer."""

from dataclasses import dataclass

from anyformer.certificates.cells import Grid
from anyformer.construction.drafts import padded, soften
from anyformer.construction.plans import Plan
from anyformer.construction.proof_grid import proof_grid
from anyformer.construction.select import METHODS
from anyformer.construction.sparse import pattern_at
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
    lattice, shape = plan.lattice, plan.shape
    drafts = METHODS[plan.method].drafts(plan)
    hard_size = max(draft.stage.sizes.get("hidden_size", 1) for draft in drafts)
    hard = tuple(
        padded(draft.stage, hard_size) if isinstance(draft.stage, FeedForwardStage) else draft.stage for draft in drafts
    )
    soft = tuple(soften(draft, shape.hidden_size, plan.probability_map) for draft in drafts)
    sizes, positions = (lattice.tokens, lattice.width), lattice.positional_encoding
    pattern = None if plan.pattern is None else pattern_at(plan.pattern, lattice.tokens)
    hard_shape = BlockShape(shape.heads, shape.head_size, hard_size)
    hard_network = Network(*sizes, hard_shape, hard, positions, pattern)
    network = Network(*sizes, shape, soft, positions, pattern)
    return Construction(plan, hard_network, network, proof_grid(lattice, plan.ramp))
