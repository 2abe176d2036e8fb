"""The cells on which a network should be constant: the cells of its grid without the ramps between them."""

import numpy as np

from anyformer.certificates.bounds.cells import Grid
from anyformer.construction.grids.lattice import Lattice


def proof_grid(lattice: Lattice, ramp: float) -> Grid:
    """Each cell without the ramp at its upper end, and one ramp width less at both ends where needed.

    It is needed at the edges of a support, where the ramps to the outside lie, and in every cell if bringing
    the input to the grid rounds: a cell's image must not reach into a wall.
    """
    lows, highs = [], []
    walls = ramp / np.array(lattice.scales)
    for low, high, count, side, wall in zip(
        lattice.lows, lattice.highs, lattice.counts, lattice.cell_sides, walls, strict=True
    ):
        edges = low + np.arange(count + 1) * side
        moved = wall if lattice.rounds_input else 0.0
        starts, ends = edges[:-1] + moved, edges[1:] - wall - moved
        if lattice.is_guarded:
            starts[0], ends = low + 2 * wall, np.minimum(ends, high - 2 * wall)
        lows.append(starts)
        highs.append(np.minimum(ends, high))
    return Grid(tuple(lows), tuple(highs))
