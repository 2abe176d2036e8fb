"""The cells a construction claims to be constant on: its own cells, less the ramps between them."""

import numpy as np

from anyformer.certificates.cells import Grid
from anyformer.construction.lattice import Lattice
from anyformer.networks.activations import Array


def proof_grid(lattice: Lattice, ramp: float) -> Grid:
    """Each cell without its ramp at the upper end, and a ramp's width more at both ends where that is needed.

    It is needed at the edges of a support, where the ramps to the outside lie, and in every cell if the domain does
    not start at 0: moving it there rounds, and a cell's image must not reach into a wall.
    """
    lows: list[Array] = []
    highs: list[Array] = []
    for low, high, count in zip(lattice.lows, lattice.highs, lattice.counts, strict=True):
        edges = low + np.arange(count + 1) * lattice.cell_width
        moved = ramp if low != 0 else 0.0
        starts, ends = edges[:-1] + moved, edges[1:] - ramp - moved
        if lattice.is_guarded:
            starts[0], ends = low + 2 * ramp, np.minimum(ends, high - 2 * ramp)
        lows.append(np.asarray(starts, dtype=np.float64))
        highs.append(np.asarray(np.minimum(ends, high), dtype=np.float64))
    return Grid(tuple(lows), tuple(highs))
