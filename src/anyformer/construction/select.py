"""Choosing the coarsest grid that meets the tolerance, or saying why none does and what would fit."""

import math
from dataclasses import replace

from anyformer.construction import faithful
from anyformer.construction.budget import narrowest_ramp
from anyformer.construction.plans import MAX_LAYERS, Plan
from anyformer.errors import PlanError
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Symmetry, Target

METHODS = {faithful.NAME: faithful}
DEFAULT_METHOD = faithful.NAME
OUTPUT_BITS = 53


def plan(
    target: Target, tolerance: float, p: float = 2.0, method: str = DEFAULT_METHOD, max_layers: int = MAX_LAYERS
) -> Plan:
    """Decide every size of the construction without building it; refuse what would not fit.

    Args:
        target: what to approximate.
        tolerance: the ε of d_p(f, g) <= ε.
        p: the exponent of the error, 1 <= p < ∞.
        method: how to build; `METHODS` lists them.
        max_layers: refuse above this many layers.

    Example:
        >>> plan(targets.mean_scale(tokens=2), tolerance=0.2).layers
    """
    _check_request(target, tolerance, p, method)
    plan_at = METHODS[method].plan_at
    best: Plan | None = None
    for cell_width in _cell_widths(target):
        try:
            candidate: Plan = plan_at(target, tolerance, p, cell_width)
        except (OverflowError, MemoryError) as error:
            raise PlanError(
                f"{target.name} on {target.tokens} tokens of width {target.width} is beyond what can even be counted "
                f"({error}); ask for fewer tokens, a smaller width or a domain of moderate size"
            ) from error
        trouble = _what_does_not_fit(candidate, max_layers)
        if trouble:
            raise PlanError(_refusal(candidate, trouble, best))
        if candidate.error.total <= tolerance:
            return candidate
        best = candidate
    raise AssertionError("cell widths do not end before some limit is met")


def _check_request(target: Target, tolerance: float, p: float, method: str) -> None:
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise PlanError(f"the tolerance must be positive and finite; got {tolerance!r}")
    if not (math.isfinite(p) and p >= 1):
        raise PlanError(f"p must satisfy 1 <= p < infinity; got {p!r}")
    if method not in METHODS:
        raise PlanError(f"the method must be one of {', '.join(METHODS)}; got {method!r}")
    if target.symmetry is Symmetry.NONE and isinstance(target.domain, CompactSupport):
        raise PlanError(
            "a function with compact support cannot be approximated over all sequences by a network with positions: "
            "for any encoding E, the network's value at (X+E)P−E is its value at X with the tokens permuted, so it "
            "cannot vanish outside the support unless it vanishes inside. Use a box domain: the error is then taken "
            "over the box alone."
        )


def _cell_widths(target: Target) -> list[float]:
    sides = target.domain.highs(target.width) - target.domain.lows(target.width)
    coarsest = 2.0 ** math.ceil(math.log2(float(sides.max())))
    return [coarsest * 2.0**-k for k in range(1, 1000)]


def _what_does_not_fit(candidate: Plan, max_layers: int) -> str | None:
    if candidate.layers > max_layers:
        return f"{candidate.layers:,} layers where {max_layers:,} are allowed"
    spare = candidate.output_bound / candidate.output_quantum
    if candidate.id_bits > OUTPUT_BITS or spare < 2:
        return f"ids of {candidate.id_bits} bits, where float64 has {OUTPUT_BITS} for the id and the output together"
    if candidate.ramp < narrowest_ramp(candidate.lattice):
        return (
            f"ramps of width {candidate.ramp:.1e} between cells, where float64 keeps sums exact down to "
            f"{narrowest_ramp(candidate.lattice):.1e} (the tolerance to the power p = {candidate.p:g} is that small)"
        )
    return None


def _refusal(candidate: Plan, trouble: str, best: Plan | None) -> str:
    request = f"{candidate.target.name} on {candidate.lattice.tokens} tokens of width {candidate.lattice.width}"
    lines = [
        f"{request} with error {candidate.tolerance:g} in L^{candidate.p:g} cannot be built by {candidate.method}: it "
        f"needs at least {' × '.join(map(str, candidate.lattice.counts))} cells per token, and that means {trouble}.",
        "What would fit:",
    ]
    if best is not None:
        enough = _rounded_up(_reachable(best))
        lines.append(f"  - a tolerance of {enough:.3g} or more ({best.layers:,} layers, ids of {best.id_bits} bits);")
    if candidate.lattice.tokens > 2:
        fewer = replace(candidate.lattice, tokens=candidate.lattice.tokens - 1)
        lines.append(
            f"  - {fewer.tokens} tokens: about {fewer.tokens * fewer.sequences:,} layers at the same cell width;"
        )
    others = [name for name in METHODS if name != candidate.method]
    lines += [f"  - another method: {', '.join(others)};"] if others else []
    lines += ["  - a higher limit on the layers (--max-layers, max_layers=…)."] if "allowed" in trouble else []
    return "\n".join(lines)


def _reachable(best: Plan) -> float:
    """A tolerance that `best` meets: its error without the share that ramps took of the tolerance asked for."""
    cells = max(best.error.total**best.p - best.error.ramps**best.p, 0.0)
    share = best.error.ramps**best.p / best.tolerance**best.p
    return float((cells / (1 - share)) ** (1 / best.p)) * (1 + 1e-9)


def _rounded_up(x: float) -> float:
    """The next number of three digits, so that what is printed is enough."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 2)
    return math.ceil(x / unit) * unit
