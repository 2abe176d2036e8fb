"""The error as measured on quasi-random inputs: no proof, but it must agree with one."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.bounds.cells import Grid
from anyformer.certificates.bounds.powers import check_exponent, unit_for
from anyformer.networks.dtypes import FLOAT64, DType
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Target

REPLICATES = 8
CONFIDENCE = 0.95
POINTS = 2048
# Numbers in all inputs together, about.
MOST_ENTRIES = 1 << 20
MOST_STRATA = 1 << 14


@dataclass(frozen=True)
class MeasuredError:
    """An estimate of d_p(f, g) with a confidence interval from independent replicates."""

    error: float
    low: float
    high: float
    samples: int


def measure_error(
    network: Callable[[Array], Array],
    target: Target,
    p: float,
    strata: Grid | None = None,
    seed: int = 0,
    tolerance: float = math.inf,
    dtype: DType = FLOAT64,
) -> MeasuredError:
    """Estimate the L^p distance of a network (any callable on (batch, tokens, width)) and a target.

    With `strata`, points are drawn in every cell of the grid if there are not too many: errors on thin sets of cells,
    such as equal tokens, are then sampled in true proportion. Otherwise a scrambled Halton sequence is used. Powers are
    taken of errors in units of about the tolerance, so that they do not underflow. The inputs are numbers of `dtype`.
    """
    from scipy.special import stdtrit

    draw = _halton(target) if strata is None else _stratified(target, strata) or _halton(target)
    check_exponent(p, takes_infinity=True)
    if p == math.inf:
        return _largest_error(network, target, seed, dtype)
    unit = unit_for(tolerance)
    integrals, samples = [], 0
    for replicate in range(REPLICATES):
        x, volume = draw(np.random.default_rng([seed, replicate]))
        x = dtype.rounded(x)
        powers = ((np.abs(target(x) - network(x)) / unit) ** p).sum(axis=(1, 2))
        integrals.append(float((volume * powers).sum()))
        samples += len(x)
    mean = float(np.mean(integrals))
    half = float(stdtrit(REPLICATES - 1, (1 + CONFIDENCE) / 2) * np.std(integrals, ddof=1) / np.sqrt(REPLICATES))
    error, low, high = (unit * max(one, 0.0) ** (1 / p) for one in (mean, mean - half, mean + half))
    return MeasuredError(error, low, high, samples)


def _largest_error(network: Callable[[Array], Array], target: Target, seed: int, dtype: DType) -> MeasuredError:
    """The largest error on inputs that reach the corners: uniform ones have means near the middle if tokens are many.

    Beta-distributed entries, a distribution of its own for every sequence and coordinate, then corners and sequences
    whose tokens lie close together.
    """
    rng, count = np.random.default_rng(seed), _points(target)
    shape = (count, target.tokens, target.width)
    a, b = (np.exp(rng.uniform(-2.5, 2.5, (count, 1, target.width))) for _ in range(2))
    unit = rng.beta(a, b, shape)
    unit[: count // 8] = rng.integers(0, 2, (count // 8, *shape[1:]))
    near = rng.random((count, 1, 1)) * (rng.random((count, 1, 1)) < 0.3)
    unit = unit * (1 - near) + near * unit.mean(axis=1, keepdims=True)
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    x = dtype.rounded_inside(np.clip(low + unit * (high - low), low, high), low, high)
    worst = float(np.abs(target(x) - network(x)).max())
    return MeasuredError(worst, worst, worst, count)


def _points(target: Target) -> int:
    """Fewer where sequences are long, but never fewer than 32."""
    return max(32, min(POINTS, MOST_ENTRIES // (REPLICATES * target.tokens * target.width)))


Draw = Callable[[np.random.Generator], tuple[Array, Array]]


def _halton(target: Target) -> Draw:
    """Points of the domain with equal shares of its volume; around a compact support a margin too.

    Not Sobol': its points are too regular for cells that are dyadic themselves, and fall on thin sets in clumps.
    """
    from scipy.stats import qmc

    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    margin = (high - low) / 8 if isinstance(target.domain, CompactSupport) else 0.0
    low, high = low - margin, high + margin
    points = _points(target)
    volume = float(np.prod(high - low)) ** target.tokens / points

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        unit = qmc.Halton(target.tokens * target.width, scramble=True, rng=rng).random(points)
        return low + unit.reshape(-1, target.tokens, target.width) * (high - low), np.full(points, volume)

    return draw


def _stratified(target: Target, grid: Grid) -> Draw | None:
    """One random point in every cell, or None if there are too many cells."""
    if target.tokens * math.log2(math.prod(grid.cells_per_axis)) > math.log2(MOST_STRATA):
        return None
    columns = grid.columns
    rows = itertools.product(range(len(columns)), repeat=target.tokens)
    boxes = grid.boxes(columns[np.array(list(rows), dtype=np.int64)])
    sides = boxes.high - boxes.low
    each = max(1, math.ceil(POINTS / len(sides)))
    low, sides = np.repeat(boxes.low, each, axis=0), np.repeat(sides, each, axis=0)

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        return low + rng.random(low.shape) * sides, np.prod(sides, axis=(1, 2)) / each

    return draw
