"""What a construction may cost, and how to say that it would cost more."""

import math
from dataclasses import dataclass, field
from typing import TypeAlias

from anyformer.certificates.effort import Cost, Effort, TooMuch, Visits, check_cost, cost_of_proof
from anyformer.certificates.evidence import Evidence, evidence_for
from anyformer.construction.budget import narrowest_ramp
from anyformer.construction.lattice import Lattice
from anyformer.construction.plans import Plan
from anyformer.errors import PlanError
from anyformer.networks.probability_maps import ProbabilityMap, Softmax
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern
from anyformer.targets.target import Target

Pattern: TypeAlias = PatternFamily | SparsityPattern

FLOAT_BITS = 53
MAX_LAYERS = 2_000_000


@dataclass(frozen=True)
class Limits:
    """What may be used: layers, hidden units, who may look at whom, how scores become weights, effort for a proof."""

    max_layers: int = MAX_LAYERS
    hidden_size: int = 4
    pattern: Pattern | None = None
    probability_map: ProbabilityMap = field(default_factory=Softmax)
    effort: Effort = field(default_factory=Effort)


def shortage(plan: Plan, limits: Limits) -> str | None:
    """What a plan needs that is not there, if anything."""
    if plan.layers > limits.max_layers:
        return f"{plan.layers:,} layers where {limits.max_layers:,} are allowed"
    if plan.id_bits > FLOAT_BITS or plan.output_bound < 2 * plan.output_quantum:
        return f"ids of {plan.id_bits} bits, where float64 has {FLOAT_BITS} for the id and the output together"
    narrowest = narrowest_ramp(plan.lattice)
    if plan.ramp < narrowest:
        return (
            f"ramps of width {plan.ramp:.1e} between cells, where float64 keeps sums exact down to {narrowest:.1e} "
            f"(the tolerance to the power p = {plan.p:g} is that small)"
        )
    return _excess(plan.cost(visits(plan.target, plan.lattice)), limits)


def too_much_to_prove(target: Target, lattice: Lattice, limits: Limits) -> str | None:
    """What visiting the cells of this grid would cost beyond what it may, if anything; layers aside."""
    return _excess(cost_of_proof(lattice.counts, lattice.tokens, visits(target, lattice)), limits)


def visits(target: Target, lattice: Lattice) -> Visits:
    """How the cells will be visited by the proof."""
    if lattice.has_positions:
        return Visits.EVERY_ORDER
    return Visits.ONCE if evidence_for(target) is Evidence.MODULUS else Visits.TARGET_IN_EVERY_ORDER


def _excess(cost: Cost, limits: Limits) -> str | None:
    try:
        check_cost(cost, limits.effort)
    except TooMuch as excess:
        return str(excess)
    return None


def refusal(plan: Plan, why: str, best: Plan | None, layers_with_fewer_tokens: int) -> PlanError:
    """Say what was asked, why it cannot be, and what could: `best` is the finest plan that still fits."""
    lattice = plan.lattice
    lines = [
        f"{plan.target.name} on {lattice.tokens} tokens of width {lattice.width} with error {plan.tolerance:g} in "
        f"L^{plan.p:g} cannot be built by {plan.method}: it needs at least "
        f"{' × '.join(map(str, lattice.counts))} cells per token, and that means {why}.",
        "What would fit:",
    ]
    if best is not None:
        enough = _rounded_up(_reachable(best))
        lines.append(f"  - a tolerance of {enough:.3g} or more ({best.layers:,} layers, ids of {best.id_bits} bits);")
    if lattice.tokens > 2:
        lines.append(
            f"  - {lattice.tokens - 1} tokens: about {layers_with_fewer_tokens:,} layers at the same cell width;"
        )
    lines.append(
        "  - another method (--method), a higher limit (--max-layers, --max-cells, --max-hours) or more hidden units."
    )
    return PlanError("\n".join(lines))


def _reachable(best: Plan) -> float:
    """A tolerance that `best` meets: its error without the share that ramps took of the tolerance asked for."""
    cells = max(best.error.total**best.p - best.error.ramps**best.p, 0.0)
    share = best.error.ramps**best.p / best.tolerance**best.p
    return float((cells / (1 - share)) ** (1 / best.p)) * (1 + 1e-9)


def _rounded_up(x: float) -> float:
    """The next number of three digits, so that what is printed is enough."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 2)
    return math.ceil(x / unit) * unit
