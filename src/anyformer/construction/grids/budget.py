"""The error budget: how fine the cells, how steep the ramps, how many bits for the outputs.

The tolerance is met if the p-th powers of the parts stay within its p-th power. The ramps get a fixed small share,
since narrow ramps cost only bits; float32 has few of them, and its ramps get more. The rest is for the cells, and the
coarsest grid within this budget is taken.
"""

import itertools
import math

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.construction.dyadic import power_of_two_above, power_of_two_below
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.grids.tables import sampled_error
from anyformer.construction.request import Request
from anyformer.networks.dtypes import FLOAT64
from anyformer.targets.target import Target

MANY = 20_000


def ramp_share(request: Request) -> float:
    """The share of tolerance^p that the walls between cells may cost."""
    return 2.0**-10 if request.dtype == FLOAT64 else 2.0**-3


def deviation(target: Target, lattice: Lattice, p: float) -> Array:
    """The p-mean of |f − f(centre)| over cells by entry: from the modulus, or what samples show and a tenth more."""
    if target.modulus is not None:
        half = np.broadcast_to(lattice.cell_sides / 2, (lattice.tokens, lattice.width))
        return np.asarray(target.modulus.mean_deviation(half, p))
    volume = target.domain.volume(lattice.tokens, lattice.width)
    spread = sampled_error(target, lattice, p) * 1.1 / (volume * lattice.tokens * lattice.width) ** (1 / p)
    return np.full((lattice.tokens, lattice.width), spread)


def coinciding_codes(lattice: Lattice) -> tuple[Integers, Array]:
    """All sequences with two equal columns up to order, and how many rearrangements each stands for."""
    shorter = list(itertools.combinations_with_replacement(range(lattice.columns), lattice.tokens - 1))
    stems = np.array(shorter, dtype=np.int64)
    doubled = [np.column_stack([stems, stems[:, j]]) for j in range(lattice.tokens - 1)]
    rows = np.unique(np.sort(np.concatenate(doubled), axis=1), axis=0)
    orders = np.full(len(rows), math.factorial(lattice.tokens))
    run = np.ones(len(rows), dtype=np.int64)
    for j in range(1, lattice.tokens):
        run = np.where(rows[:, j] == rows[:, j - 1], run + 1, 1)
        orders //= run
    return rows, orders.astype(np.float64)


def coincidence_power(target: Target, lattice: Lattice, deviation: Array, p: float) -> float:
    """∫ of (|f| + deviation)^p over the cells where two tokens share a cell, all sent to 0; zero with positions."""
    if lattice.has_positions:
        return 0.0
    volume = float(np.prod(lattice.cell_sides)) ** lattice.tokens
    count = math.comb(lattice.columns + lattice.tokens - 1, lattice.tokens) - lattice.sequences
    if count <= MANY:
        codes, orders = coinciding_codes(lattice)
        losses = (np.abs(target(lattice.centres(codes))) + deviation) ** p
        return float((losses.sum(axis=(1, 2)) * orders).sum() * volume)
    # Too many to list: take a sample, and a margin for its noise. This is only for planning; the proof visits all
    # cells.
    rng = np.random.default_rng(5)
    codes = rng.integers(0, lattice.columns, (MANY, lattice.tokens))
    first, second = np.argsort(rng.random((MANY, lattice.tokens)), axis=1)[:, :2].T
    codes[np.arange(MANY), first] = codes[np.arange(MANY), second]
    losses = (np.abs(target(lattice.centres(codes))) + deviation) ** p
    sequences = lattice.columns**lattice.tokens - lattice.sequences * math.factorial(lattice.tokens)
    return float(losses.sum(axis=(1, 2)).mean() * 1.02 * sequences * volume)


def ramp_width(request: Request, lattice: Lattice, bound: float) -> float:
    """The widest ramp (a power of two) whose walls cost at most their share of tolerance^p.

    Walls have measure at most tokens·Σ_i (3·counts[i] + 4)·ramp (see proof_grid) in units of the other sides; on them
    the error is at most reach + bound in each of tokens·width entries.
    """
    p = request.p
    sides = (np.array(lattice.highs) - np.array(lattice.lows)) * np.array(lattice.scales)
    volume = float(np.prod(np.array(lattice.highs) - np.array(lattice.lows))) ** lattice.tokens
    walls = lattice.tokens * sum((3 * n + 4) / side for n, side in zip(lattice.counts, sides, strict=True)) * volume
    height = lattice.tokens * lattice.width * (request.reach + bound) ** p
    allowed = ramp_share(request) * request.tolerance**p / (walls * height)
    return power_of_two_below(min(allowed, lattice.cell_width / 4)) if allowed > 0 else 0.0


def narrowest_ramp(lattice: Lattice, bits: int) -> float:
    """Sums of grid values, ramps and their steep slopes stay exact while entry/ramp has two bits fewer than numbers."""
    return power_of_two_above(lattice.largest_entry) * 2.0 ** (2 - bits)
