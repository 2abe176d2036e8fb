"""The methods, and planning with the one asked for or the one that comes out smallest."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from anyformer.construction import averaging, faithful
from anyformer.construction.drafts import Draft
from anyformer.construction.limits import MAX_LAYERS, Limits
from anyformer.construction.plans import Plan
from anyformer.errors import PlanError
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Symmetry, Target

AUTO = "auto"


@dataclass(frozen=True)
class Method:
    """A construction: how it plans, how it plans a little finer, and its stages."""

    plan: Callable[[Target, float, float, Limits], Plan]
    finer: Callable[[Plan, Limits], Plan]
    drafts: Callable[[Plan], list[Draft]]


METHODS = {
    averaging.NAME: Method(averaging.plan, averaging.finer, averaging.drafts),
    faithful.NAME: Method(faithful.plan, faithful.finer, faithful.drafts),
}


def plan(
    target: Target,
    tolerance: float,
    p: float = 2.0,
    method: str = AUTO,
    max_layers: int = MAX_LAYERS,
    hidden_size: int = 4,
) -> Plan:
    """Decide every size of the construction without building it; refuse what would not fit.

    Args:
        target: what to approximate.
        tolerance: the ε of d_p(f, g) <= ε.
        p: the exponent of the error, 1 <= p < ∞.
        method: how to build, a key of `METHODS`; "auto" takes the one with the fewest layers.
        max_layers: refuse above this many layers.
        hidden_size: hidden units a layer, at least 4; more of them make shallower networks.

    Example:
        >>> plan(targets.mean_scale(tokens=2), tolerance=0.2).layers
    """
    return plans(target, tolerance, p, method, max_layers, hidden_size)[0]


def plans(target: Target, tolerance: float, p: float, method: str, max_layers: int, hidden_size: int) -> list[Plan]:
    """The plans of all methods asked for that fit, the one with the fewest layers first; a refusal if there is none."""
    tolerance, p = float(tolerance), float(p)
    _check_request(target, tolerance, p, method, hidden_size)
    limits = Limits(max_layers, hidden_size)
    names = list(METHODS) if method == AUTO else [method]
    found, refusals = [], []
    for name in names:
        try:
            found.append(METHODS[name].plan(target, tolerance, p, limits))
        except PlanError as refused:
            refusals.append(refused)
    if not found:
        raise refusals[0]
    return sorted(found, key=lambda plan: plan.layers)


def _check_request(target: Target, tolerance: float, p: float, method: str, hidden_size: int) -> None:
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise PlanError(f"the tolerance must be positive and finite; got {tolerance!r}")
    if not (math.isfinite(p) and p >= 1):
        raise PlanError(f"p must satisfy 1 <= p < infinity; got {p!r}")
    if method not in (AUTO, *METHODS):
        raise PlanError(f"the method must be one of {AUTO}, {', '.join(METHODS)}; got {method!r}")
    if hidden_size < 4:
        raise PlanError(f"a layer needs at least 4 hidden units; got {hidden_size}")
    if target.symmetry is Symmetry.NONE and isinstance(target.domain, CompactSupport):
        raise PlanError(
            "a function with compact support cannot be approximated over all sequences by a network with positions: "
            "for any encoding E, the network's value at (X+E)P−E is its value at X with the tokens permuted, so it "
            "cannot vanish outside the support unless it vanishes inside. Use a box domain: the error is then taken "
            "over the box alone."
        )
