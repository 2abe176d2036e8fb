"""From a plan to networks: the hard one the proof speaks of and the soft one that is a real Transformer."""

from dataclasses import dataclass

from anyformer.certificates.cells import Grid
from anyformer.construction.drafts import HARD_SHAPE, SOFT_SHAPE, soften
from anyformer.construction.plans import Plan
from anyformer.construction.proof_grid import proof_grid
from anyformer.construction.select import METHODS
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
    lattice = plan.lattice
    drafts = METHODS[plan.method].drafts(plan)
    positions = lattice.positional_encoding
    hard = Network(lattice.tokens, lattice.width, HARD_SHAPE, tuple(draft.stage for draft in drafts), positions)
    soft = Network(lattice.tokens, lattice.width, SOFT_SHAPE, tuple(soften(draft) for draft in drafts), positions)
    return Construction(plan, hard, soft, proof_grid(lattice, plan.ramp))
