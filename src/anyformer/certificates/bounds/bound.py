"""The error bound, derived from weights, target and cells alone.

    d_p(f, g)^p  <=  Σ_cells ∫_cell ‖f − g‖_p^p  +  (volume of the rest)·sup ‖f − g‖_p^p

Every cell is propagated through the network as a whole, which encloses g on it. The integral over a cell is bounded
with the target run on intervals (`interval_bound`) or with its declared modulus (`modulus_bound`). On the rest, g is
bounded by what the last stage returns for any input whatever, and the float64 program by following the whole domain as
one box (`walls`), where that shows anything. Outside a compact support g must be 0.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.bounds.cells import Grid, rest_volume
from anyformer.certificates.bounds.effort import ORDINARY, Effort, Visits
from anyformer.certificates.bounds.evidence import Evidence, evidence_for
from anyformer.certificates.bounds.job import PARTS, Job, Sums, check_effort, together, visits_of
from anyformer.certificates.bounds.modulus_bound import INFLATION, modulus_sums
from anyformer.certificates.bounds.powers import LEAST_TOLERANCE, MOST_TOLERANCE, check_exponent, power_above, unit_for
from anyformer.certificates.bounds.refinement import TIGHTNESS as TIGHTNESS
from anyformer.certificates.bounds.refinement import Goal, refined_sums
from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure, up
from anyformer.certificates.propagation.gate import NotShown, check_weights, vigilant
from anyformer.certificates.propagation.propagate import propagate, propagate_stage
from anyformer.certificates.propagation.walls import Reach, follow_domain
from anyformer.errors import CertificateError
from anyformer.networks.magnitudes import tame
from anyformer.networks.network import Network
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Target
from anyformer.workers import counted, each

# By how much of its range float64 may exceed real arithmetic between the cells and still be covered by the claim.
ROUNDING_ROOM = 2.0**-20


@dataclass(frozen=True, eq=False)
class ErrorBound:
    """An upper and a lower bound on d_p(f, g), its parts as L^p norms, and the cell where most of it surely lies."""

    upper: float
    lower: float
    terms: dict[str, float]
    worst_input: Array
    vanishes_outside: bool
    cells: int
    evidence: Evidence
    reach: Reach
    """Where the program in the network's floating-point type keeps to the bound too."""


def derive_bound(
    network: Network,
    target: Target,
    grid: Grid,
    p: float,
    tolerance: float = math.inf,
    tightness: float = TIGHTNESS,
    evidence: Evidence | None = None,
    progress: Callable[[int, int], None] | None = None,
    effort: Effort = ORDINARY,
    stated: Mapping[str, float] = MappingProxyType({}),
) -> ErrorBound:
    """Bound the L^p distance of network and target.

    With intervals, cells are refined until the bound is within the tolerance and as tight as asked, and, as far as that
    is cheap, until its terms are no larger than those *stated*. Raises NotShown where no bound can be derived: for a
    network that cannot be followed (`gate`) or with too many cells (`effort`).
    """
    if not tightness > 1:
        raise CertificateError(f"the tightness must be above 1; got {tightness!r}")
    check_claim(target, grid, p, tolerance)
    check_weights(network)
    evidence = evidence_for(target) if evidence is None else evidence
    check_effort(network, target, grid, evidence, effort)
    up_to_order = visits_of(network, target, evidence) is not Visits.EVERY_ORDER
    job = Job(network, target, grid, p, up_to_order, unit_for(tolerance))
    with vigilant():
        rest = _Rest.of(job)

        def left_for_cells(f_low: Array, f_high: Array) -> float:
            whole = (tolerance / job.unit) ** p * (1 - 1e-9) / INFLATION ** (2 * p + 2)
            return float(whole) - rest.power(job, f_low, f_high)

        if evidence is Evidence.UNCONDITIONAL:
            powers = {name: _power(stated[name], job) for name in PARTS if name in stated}
            sums = refined_sums(job, Goal(left_for_cells, tightness, powers), progress)
        else:
            sums = together(list(counted(each(modulus_sums, job, chunks := job.chunks()), len(chunks), progress)))
        return _bound(job, sums, rest, evidence)


def _bound(job: Job, sums: Sums, walls: "_Rest", evidence: Evidence) -> ErrorBound:
    target = job.target
    rest = walls.power(job, sums.f_low, sums.f_high)
    outside = not isinstance(target.domain, CompactSupport) or _vanishes_outside(job.network, target)
    terms = {name: _norm(power, job) for name, power in {**sums.parts, "rest": rest}.items()}
    return ErrorBound(
        upper=_norm(sums.upper + rest, job) if outside else math.inf,
        lower=float(max(sums.lower, 0.0) ** (1 / job.p) / INFLATION**2) * job.unit,
        terms={**terms, "rest_volume": walls.volume},
        worst_input=sums.worst_input,
        vanishes_outside=outside,
        cells=job.count,
        evidence=evidence,
        reach=walls.reach,
    )


def check_claim(target: Target, grid: Grid, p: float, tolerance: float) -> None:
    """Raise unless the numbers of the claim itself are such that the bound can be computed."""
    check_exponent(p)
    if tolerance != math.inf and not LEAST_TOLERANCE <= tolerance <= MOST_TOLERANCE:
        raise CertificateError(
            f"the tolerance must be between 2^-500 and 2^500; got {tolerance!r}. Rescale the outputs to sizes near 1."
        )
    ends = [target.domain.lows(target.width), target.domain.highs(target.width), *grid.lows, *grid.highs]
    if not all(tame(end).all() for end in ends):
        raise NotShown("the domain or the grid has an end that is neither 0 nor between 2^-1000 and 2^1000")


def _norm(power: float, job: Job) -> float:
    return float((power * INFLATION) ** (1 / job.p) * INFLATION) * job.unit


def _power(norm: float, job: Job) -> float:
    """The largest power whose norm counts as the given one."""
    with np.errstate(over="ignore"):
        return float(np.float64(norm / job.unit / INFLATION) ** job.p / INFLATION)


@dataclass(frozen=True, eq=False)
class _Rest:
    """The walls between the cells: their volume, what g returns there at most, and whether float64 is known there."""

    volume: float
    g_low: Array
    g_high: Array
    reach: Reach

    @classmethod
    def of(cls, job: Job) -> "_Rest":
        """In real arithmetic by what the last stage returns for any input; in float64 by following the domain."""
        network = job.network
        anything = np.full((1, network.tokens, network.width), np.inf)
        output = propagate_stage(network.stages[-1], Enclosure.box(-anything, anything), Arithmetic.REAL).folded()
        g_low, g_high = output.low.min(axis=(0, 1)), output.high.max(axis=(0, 1))
        computed = follow_domain(network, job.target.domain)
        volume = rest_volume(job.target, job.grid)
        if computed is None:
            return cls(volume, g_low, g_high, Reach.CELLS)
        f_low, f_high = computed.low.min(axis=(0, 1)), computed.high.max(axis=(0, 1))
        # Far from the cells float64 may keep some of the garbage that a clip takes away in real arithmetic.
        room = ROUNDING_ROOM * (g_high - g_low)
        if not ((f_low >= g_low - room) & (f_high <= g_high + room)).all():
            return cls(volume, g_low, g_high, Reach.CELLS)
        return cls(volume, np.minimum(g_low, f_low), np.maximum(g_high, f_high), Reach.DOMAIN)

    def power(self, job: Job, f_low: Array, f_high: Array) -> float:
        """volume · Σ over entries of the largest conceivable |f − g|^p."""
        if self.volume == 0:
            return 0.0
        largest = np.maximum(f_high - self.g_low, self.g_high - f_low)
        return float(up(self.volume * job.network.tokens * power_above(largest, job.unit, job.p).sum()))


def _vanishes_outside(network: Network, target: Target) -> bool:
    """Whether g is exactly 0 for every input with an entry at or beyond an end of the support, whatever the others."""
    tokens, width = network.tokens, network.width
    low = np.full((2, tokens * width, tokens, width), -np.inf)
    high = -low
    entry = np.arange(tokens * width)
    low[0, entry, entry // width, entry % width] = target.domain.highs(width)[entry % width]
    high[1, entry, entry // width, entry % width] = target.domain.lows(width)[entry % width]
    boxes = Enclosure.box(low.reshape(-1, tokens, width), high.reshape(-1, tokens, width))
    output = propagate(network, boxes, Arithmetic.REAL).folded()
    return bool((output.low == 0).all() and (output.high == 0).all())
