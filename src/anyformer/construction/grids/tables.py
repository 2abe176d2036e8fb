"""The piecewise-constant table that a network computes: the value of each cell, and how far the target is from it."""

import itertools

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.grids.sobol import sobol_points
from anyformer.targets.target import Target
from anyformer.workers import each

WORK = 1 << 18
# Means over a cell take this many points along each entry of the sequence, as long as that is affordable.
POINTS = 3
AFFORDABLE = 1000
CHUNK = 1 << 17


def cell_values(target: Target, lattice: Lattice, sequences: Integers) -> Array:
    """Each cell's value: the mean of the target over it (Gauss quadrature), or its centre's in many dimensions.

    The mean is the best constant in L²; the centre is as good to first order.
    """
    entries = lattice.tokens * lattice.width
    points = POINTS if POINTS**entries <= AFFORDABLE else 1
    return _in_parts(target, lattice, sequences, points)


def centre_values(target: Target, lattice: Lattice, sequences: Integers) -> Array:
    """Each cell's value at its centre."""
    return _in_parts(target, lattice, sequences, 1)


def _in_parts(target: Target, lattice: Lattice, sequences: Integers, points: int) -> Array:
    """The values of cells, computed in parts of a fixed size, spread over the workers."""
    size = max(1, CHUNK // points ** (lattice.tokens * lattice.width))
    parts = [sequences[start : start + size] for start in range(0, len(sequences), size)]
    values = [np.zeros((0, lattice.tokens, lattice.width)), *each(_values, (target, lattice, points), parts)]
    return np.concatenate(values)


def _values(shared: tuple[Target, Lattice, int], sequences: Integers) -> Array:
    target, lattice, points = shared
    entries = lattice.tokens * lattice.width
    nodes, weights = np.polynomial.legendre.leggauss(points)
    offsets = np.array(list(itertools.product(nodes, repeat=entries)))
    mass = np.prod(list(itertools.product(weights / 2, repeat=entries)), axis=1)
    shifts = offsets.reshape(-1, lattice.tokens, lattice.width) * (lattice.cell_sides / 2)
    spots = lattice.centres(sequences)[:, None] + shifts
    at = target(spots.reshape(-1, lattice.tokens, lattice.width)).reshape(spots.shape)
    return np.asarray(np.einsum("sqtw,q->stw", at, mass))


def sampled_error(target: Target, lattice: Lattice, p: float) -> float:
    """The L^p distance of the target from its table, on quasi-random inputs: for planning, never for proof."""
    entries = lattice.tokens * lattice.width
    points = POINTS**entries if POINTS**entries <= AFFORDABLE else 1
    samples = 1 << int(np.clip(np.log2(WORK / points), 10, 12))
    unit = sobol_points(entries, samples)
    cells = np.floor(unit.reshape(-1, lattice.tokens, lattice.width) * np.array(lattice.counts)).astype(np.int64)
    sides = np.array(lattice.highs) - np.array(lattice.lows)
    x = np.array(lattice.lows) + unit.reshape(cells.shape) * sides
    table = cell_values(target, lattice, cells @ np.array(lattice.radices, dtype=np.int64))
    gaps = (np.abs(target(x) - table) ** p).sum(axis=(1, 2)).mean()
    return float((gaps * target.domain.volume(lattice.tokens, lattice.width)) ** (1 / p))
