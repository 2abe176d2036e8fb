"""The cells a construction claims to be constant on: its own cells, less the ramps between them."""

import numpy as np

from anyformer.certificates.cells import Grid
from anyformer.construction.lattice import Lattice


def proof_grid(lattice: Lattice, ramp: float) -> Grid:
    """Each cell without its ramp at the upper end, and without as much at the lower end where that is needed.

    It is needed at the edge of a support, where the ramp to the outside lies, and in every cell if the domain does
    not start at 0: moving it there rounds, and a cell's image must not reach into the wall below.
    """
    lows, highs = [], []
    for low, high, count in zip(lattice.lows, lattice.highs, lattice.counts, strict=True):
        edges = low + np.arange(count + 1) * lattice.cell_width
        trimmed = np.full(count, ramp if low != 0 else 0.0)
        trimmed[0] = ramp if lattice.is_guarded else trimmed[0]
        ends = np.minimum(edges[1:] - ramp, high - ramp if lattice.is_guarded else high)
        lows.append(edges[:-1] + trimmed)
        highs.append(ends)
    return Grid(tuple(lows), tuple(highs))
