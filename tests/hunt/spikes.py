"""Networks that are right almost everywhere: wrong in a thin region inside a cell, between cells or at a border."""

import numpy as np

from anyformer.certificates import Grid
from tests.hunt.build import bump, clip, scalar_network
from tests.hunt.claims import ClaimCase
from tests.hunt.scalars import linear, scalar_claim, some_share


def spikes(rng: np.random.Generator) -> ClaimCase:
    """Clip to a range after adding a thin triangle at some place of the grid."""
    count = int(rng.choice([1, 2, 4, 8]))
    wall = float(2.0 ** -rng.integers(3, 12)) / count
    grid = walled(count, wall)
    width = float(2.0 ** -rng.integers(4, 30))
    place = int(rng.integers(count)) / count
    place += float(rng.choice([-width / 2, -width, 0.0, wall / 2, wall / 4, rng.random() / count]))
    place = float(np.floor(np.clip(place, 0.0, 1 - width) * 2**32) / 2**32)
    most = float(rng.choice([1.0, 16.0, 2.0**20]))
    height = float(2.0 ** rng.integers(0, 40))
    layers = [bump(place, width, height)]
    stages = [layers, [clip(-most, most)]] if rng.random() < 0.5 else [[*layers, clip(-most, most)]]
    p, share = float(rng.choice([1.0, 2.0, 8.0])), some_share(rng)
    what = f"a triangle of {height!r} over [{place!r}, + {width!r}], clipped to ±{most!r}; {count} cells, walls {wall!r}"
    return scalar_claim(what, scalar_network(stages), linear(1.0, 0.0), p, share, grid=grid)


def walled(count: int, wall: float) -> Grid:
    """So many cells of [0, 1], with walls before each of them."""
    starts = np.arange(count) / count
    return Grid((starts + wall,), (starts + 1 / count,))
