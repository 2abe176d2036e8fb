"""p-th powers that underflow or overflow: large p, tiny and huge differences."""

import numpy as np

from tests.hunt.build import VANISH, scalar_network
from tests.hunt.claims import ClaimCase
from tests.hunt.scalars import linear, scalar_claim, some_share

ORDERS = [1.0, 1.0 + 2**-52, 2.0, 3.7, 64.0, 1e3, 1e5, 1e8, 1e300]
DOMAINS = [
    (0.0, 1.0),
    (-1.0, 1.0),
    (0.0, 2.0**-20),
    (0.25, 0.5),
    (0.0, 2.0**-330),
    (0.0, 2.0**300),
    (1.0, 1 + 2.0**-40),
]


def powers(rng: np.random.Generator) -> ClaimCase:
    """A network that is 0, or a constant, against a line."""
    p = float(rng.choice(ORDERS))
    slope, intercept = (_size(rng) for _ in range(2))
    if rng.random() < 0.5:
        intercept = 0.0
    shift = intercept if rng.random() < 0.3 else 0.0
    network = scalar_network([[VANISH]], tokens=int(rng.integers(2, 4)), shift=shift)
    low, high = DOMAINS[rng.integers(len(DOMAINS))]
    lipschitz = abs(slope) if rng.random() < 0.3 and slope else None
    share = some_share(rng)
    return scalar_claim(f"g = {shift!r}", network, linear(slope, intercept), p, share, low, high, lipschitz=lipschitz)


def _size(rng: np.random.Generator) -> float:
    sizes = [0.9, 1.0, 0.5, 3.0, 1e-3, 1e-100, 1e-170, 1e-300, 2.0**-1030, 5e-324, 1e100, 1e160]
    return float(rng.choice([-1.0, 1.0]) * rng.choice(sizes))
