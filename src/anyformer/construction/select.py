"""The methods, and planning with the one asked for or the one that comes out smallest."""

import math
from dataclasses import replace

from anyformer.certificates.effort import ORDINARY, Effort
from anyformer.certificates.powers import MOST_P
from anyformer.construction import averaging, faithful, sparse_averaging, sparse_shift
from anyformer.construction.drafts import SOFTMAX
from anyformer.construction.lattice import Lattice
from anyformer.construction.limits import MAX_LAYERS, Limits, Pattern, too_much_to_prove
from anyformer.construction.methods import Method
from anyformer.construction.plans import Plan
from anyformer.errors import PlanError
from anyformer.networks.probability_maps import Hardmax, ProbabilityMap
from anyformer.targets.checks import check_target
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Symmetry, Target

AUTO = "auto"


METHODS = {
    averaging.NAME: averaging.METHOD,
    faithful.NAME: Method(faithful.plan, faithful.finer, faithful.drafts),
    sparse_averaging.NAME: sparse_averaging.METHOD,
    sparse_shift.NAME: sparse_shift.METHOD,
}
SPARSE = (sparse_averaging.NAME, sparse_shift.NAME)


def plan(
    target: Target,
    tolerance: float,
    p: float = 2.0,
    method: str = AUTO,
    max_layers: int = MAX_LAYERS,
    hidden_size: int = 4,
    pattern: Pattern | None = None,
    probability_map: ProbabilityMap = SOFTMAX,
    effort: Effort = ORDINARY,
) -> Plan:
    """Decide every size of the construction without building it; refuse what would not fit.

    Args:
        target: what to approximate.
        tolerance: the ε of d_p(f, g) <= ε.
        p: the exponent of the error, 1 <= p <= 64.
        method: how to build, a key of `METHODS`; "auto" takes the one with the fewest layers.
        max_layers: refuse above this many layers.
        hidden_size: hidden units a layer, at least 4; more of them make shallower networks.
        pattern: who may look at whom; the network is then sparse and has positions.
        probability_map: how scores become weights: softmax, sparsemax or entmax.
        effort: what the proof may cost; more is refused.

    Example:
        >>> plan(targets.mean_scale(tokens=2), tolerance=0.2).layers
    """
    return plans(target, tolerance, p, method, Limits(max_layers, hidden_size, pattern, probability_map, effort))[0]


def plans(target: Target, tolerance: float, p: float, method: str, limits: Limits) -> list[Plan]:
    """The plans of all methods asked for that fit, the one with the fewest layers first; a refusal if there is none."""
    tolerance, p, target = float(tolerance), float(p), positioned(target, limits.pattern)
    _check_request(target, tolerance, p, method, limits)
    _check_length(target, limits)
    check_target(target)
    found, refusals = [], []
    for name in methods_for(limits.pattern) if method == AUTO else [method]:
        try:
            found.append(
                replace(METHODS[name].plan(target, tolerance, p, limits), probability_map=limits.probability_map)
            )
        except PlanError as refused:
            refusals.append(refused)
    if not found:
        raise refusals[0]
    return sorted(found, key=lambda plan: plan.layers)


def methods_for(pattern: Pattern | None) -> list[str]:
    """The sparse methods with a pattern, the dense ones without."""
    return [name for name in METHODS if (name in SPARSE) == (pattern is not None)]


def positioned(target: Target, pattern: Pattern | None) -> Target:
    """A pattern tells tokens apart, so that a network with one has positions, whatever the target's symmetry."""
    return target if pattern is None else replace(target, symmetry=Symmetry.NONE)


def _check_request(target: Target, tolerance: float, p: float, method: str, limits: Limits) -> None:
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise PlanError(f"the tolerance must be positive and finite; got {tolerance!r}")
    if not 1 <= p <= MOST_P:
        raise PlanError(f"p must be at least 1 and at most {MOST_P:g}; got {p!r}")
    if method not in (AUTO, *METHODS):
        raise PlanError(f"the method must be one of {AUTO}, {', '.join(METHODS)}; got {method!r}")
    if method != AUTO and method not in methods_for(limits.pattern):
        what = "needs a sparsity pattern" if method in SPARSE else "takes no sparsity pattern"
        raise PlanError(f"{method} {what}; {', '.join(methods_for(limits.pattern))} would do. See `pattern`, --pattern")
    if limits.hidden_size < 4:
        raise PlanError(f"a layer needs at least 4 hidden units; got {limits.hidden_size}")
    if isinstance(limits.probability_map, Hardmax):
        raise PlanError("hardmax is no part of a real Transformer; take softmax, sparsemax or entmax")
    if target.symmetry is Symmetry.NONE and isinstance(target.domain, CompactSupport):
        raise PlanError(
            "a function with compact support cannot be approximated over all sequences by a network with positions: "
            "for any encoding E, the network's value at (X+E)P−E is its value at X with the tokens permuted, so it "
            "cannot vanish outside the support unless it vanishes inside. Use a box domain: the error is then taken "
            "over the box alone."
        )


def _check_length(target: Target, limits: Limits) -> None:
    """Refuse at once what even the coarsest table could not do: two cells for each token."""
    coarsest = Lattice.with_counts(target, (2,) + (1,) * (target.width - 1))
    if target.tokens > math.log2(limits.effort.cells) and too_much_to_prove(target, coarsest, limits):
        raise PlanError(
            f"a table of {target.tokens} tokens has 2^{target.tokens} cells even with two for each token, and a proof "
            f"may visit {limits.effort.cells:,}. Ask for fewer tokens, or allow more (--max-cells, effort=…)."
        )
