"""Networks that are right almost everywhere: wrong in a thin region inside a cell, between cells or at a border."""

import numpy as np

from anyformer.certificates import Grid
from tests.hunt.build import VANISH, Unit, bump, clip, scalar_network
from tests.hunt.claims import ClaimCase
from tests.hunt.scalars import linear, scalar_claim


def spikes(rng: np.random.Generator) -> ClaimCase:
    """A thin triangle at some place of the grid, on top of nothing or on top of the input."""
    count = int(rng.choice([1, 2, 4, 8]))
    wall = float(rng.choice([0.0, 2.0 ** -int(rng.integers(3, 12))])) / count
    width = 2.0 ** -int(rng.integers(3, 30))
    place = int(rng.integers(count)) / count
    place += float(rng.choice([-width / 2, -width, 0.0, wall / 2, wall / 4, rng.random() / count]))
    place = float(np.floor(np.clip(place, 0.0, 1 - width) * 2**32) / 2**32)
    most, height = float(rng.choice([1.0, 16.0, 2.0**20])), 2.0 ** int(rng.integers(1, 60))
    first = bump(place, width, height)
    on_nothing = rng.random() < 0.6
    last = _what_exceeds(most) if on_nothing else clip(-most, most)
    stages = [[first], [last]] if rng.random() < 0.5 else [[first, last]]
    p, share = float(rng.choice([1.0, 2.0, 8.0])), float(rng.choice([0.01, 0.9, 2.0, 30.0, 1e4]))
    what = f"a triangle of {height!r} over [{place!r}, + {width!r}], then {last}; {count} cells, walls {wall!r}"
    function = linear(0.0, 0.0) if on_nothing else linear(1.0, 0.0)
    return scalar_claim(what, scalar_network(stages), function, p, share, grid=walled(count, wall))


def hairs(rng: np.random.Generator) -> ClaimCase:
    """A triangle thinner than the smallest float, which an L^p distance with a large p still sees."""
    far = int(rng.integers(200, 500))
    grow: list[Unit] = [(2.0**far, 0.0, 2.0 ** int(rng.integers(200, 1000 - far)))]
    height, thin = float(rng.choice([1.0, 8.0, 0.5])), 2.0 ** -int(rng.integers(5, 45))
    steep = height / thin
    # For inputs that are not negative: nothing but a triangle over [0, 2·thin] of what the first layer returns.
    last: list[Unit] = [(1.0, 0.0, -1.0), (1.0, 0.0, steep), (1.0, -thin, -2 * steep), (1.0, -2 * thin, steep)]
    p, share = float(rng.choice([2.0, 30.0, 300.0, 1000.0])), float(rng.choice([0.01, 0.9, 2.0, 30.0]))
    what = f"layers {grow} and {last}"
    return scalar_claim(what, scalar_network([[grow], [last]]), linear(0.0, 0.0), p, share)


def _what_exceeds(most: float) -> list[Unit]:
    """The layer that returns 0 up to 1 and what is beyond, `most` at most."""
    return [*VANISH, (1.0, -1.0, 1.0), (1.0, -1.0 - most, -1.0)]


def walled(count: int, wall: float) -> Grid:
    """So many cells of [0, 1], with walls before each of them."""
    starts = np.arange(count) / count
    return Grid((starts + wall,), (starts + 1 / count,))
