"""Networks that misbehave far away: where a last stage is trusted for any input, and outside a compact support."""

import numpy as np
from flint import arb

from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Target
from tests.hunt.build import VANISH, Unit, bump, clip, scalar_network
from tests.hunt.claims import ClaimCase, whole
from tests.hunt.piecewise import of_network
from tests.hunt.scalars import infinite, linear, scalar_claim, some_share
from tests.hunt.spikes import walled


def plateau(rng: np.random.Generator) -> list[Unit]:
    """Two units that rise one after the other, far away; their slopes cancel exactly."""
    small = int(rng.choice([0, 30, 200, 600, 1000]))
    sign = float(rng.choice([1.0, -1.0]))
    start = float(rng.choice([1e308, 2.0**1000, 2.0**100, 2.0**30]))
    slope, outward = 2.0**-small * float(rng.choice([1.0, -1.0])), sign * 2.0 ** (small - int(rng.integers(0, 40)))
    return [(slope, -start, outward), (slope, -start * 1.5, -outward)]


def last_stage(rng: np.random.Generator) -> ClaimCase:
    """In a wall the first layers shoot up past the largest float, where the last stage has a plateau."""
    width = 2.0 ** -int(rng.integers(3, 8))
    shoot: list[list[Unit]] = [bump(0.5, width, 2.0**10)]
    shoot += [[(1.0, -2.0, 2.0 ** int(rng.integers(100, 1000)))] for _ in range(rng.integers(0, 4))]
    last = [*clip(0.0, 1.0), *plateau(rng)]
    network = scalar_network([shoot, [[last[k] for k in rng.permutation(len(last))]]])
    what = f"layers {shoot}, then {last}"
    grid = walled(2, width)
    return scalar_claim(what, network, linear(1.0, 0.0), 2.0, some_share(rng), grid=grid)


def compact_support(rng: np.random.Generator) -> ClaimCase:
    """Something that should be 0 everywhere and is not, far outside."""
    extra = plateau(rng)[: rng.choice([1, 2, 2, 2])]
    if rng.random() < 0.2:
        extra = []
    units = [*VANISH, *extra]
    layers = [[units[k] for k in rng.permutation(len(units))]]
    if rng.random() < 0.5:
        layers = [VANISH, *layers] if rng.random() < 0.5 else [[extra_unit] for extra_unit in extra] + [VANISH]
    network = scalar_network([layers])
    g = of_network(network)
    is_zero = all(v == 0 for v in g.values) and g.left == g.right == 0
    target = Target(lambda x: 0 * x, 2, 1, None, "zero", CompactSupport(0.0, 1.0))
    truth = (lambda: arb(0)) if is_zero else infinite
    tolerance = float(rng.choice([1e-6, 1.0]))
    return ClaimCase(f"layers {layers}, compact support", network, target, whole(), 2.0, tolerance, truth)
