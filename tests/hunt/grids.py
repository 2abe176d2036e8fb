"""Grids cut, shifted and thinned: what no cell covers must count as rest."""

import numpy as np

from anyformer.certificates import Grid
from tests.hunt.build import bump, clip, scalar_network
from tests.hunt.claims import ClaimCase
from tests.hunt.scalars import linear, scalar_claim, some_share


def grids(rng: np.random.Generator) -> ClaimCase:
    """A clipped network that is wrong on part of the domain, and a grid that would rather not look there."""
    low, side = [(0.0, 1.0), (-1.0, 2.0), (1e6, 1.0), (-3.0, 2.0**-10), (0.0, 2.0**40)][rng.integers(5)]
    high = low + side
    ends = np.unique(low + side * np.sort(rng.random(2 * int(rng.integers(1, 9)))))
    if rng.random() < 0.3:
        ends = np.unique(np.concatenate([[low], ends, [high]]))
    ends = ends[: len(ends) // 2 * 2]
    starts, stops = ends[::2], ends[1::2]
    if rng.random() < 0.3:
        # Neighbours that touch.
        starts, stops = ends[:-1], ends[1:]
    start, width = low + side * float(rng.random()) * 0.5, side * float(rng.choice([0.5, 0.1, 1e-3]))
    height = float(rng.choice([0.1, 1.0, 1e3])) * side
    margin = float(rng.choice([0.0, 1.0, 10.0])) * side
    network = scalar_network([[bump(start, width, height)], [clip(low - margin, high + margin)]])
    what = f"a triangle of {height!r} over [{start!r}, + {width!r}]; cells from {starts.tolist()} to {stops.tolist()}"
    grid, p = Grid((starts,), (stops,)), float(rng.choice([1.0, 2.0, 5.0]))
    return scalar_claim(what, network, linear(1.0, 0.0), p, some_share(rng), low, high, grid)
