"""Thresholds −b/a that overflow or underflow, among layers that matter."""

import numpy as np

from tests.hunt.build import Unit, scalar_network
from tests.hunt.claims import ClaimCase
from tests.hunt.palettes import draw
from tests.hunt.scalars import hinge, linear, scalar_claim, some_share


def sleeping_beside_extreme(rng: np.random.Generator) -> ClaimCase:
    """Layers that never wake, by thresholds past the largest float, around one that adds something everywhere."""
    asleep = [[(1.0, -float(rng.integers(4096, 8192)), 1.0)] for _ in range(rng.integers(0, 9))]
    never = [[_never(rng) for _ in range(rng.integers(1, 3))] for _ in range(rng.integers(1, 4))]
    loud = [[(float(rng.choice([1.0, 2.0, 0.5])), 1.0, float(rng.choice([0.25, 1.0, 546.0])))]]
    mixed = [*never, *loud] if rng.random() < 0.5 else [*never, *loud, *asleep[::2]]
    layers = [*asleep, *(mixed[k] for k in rng.permutation(len(mixed)))]
    return scalar_claim(f"layers {layers}", scalar_network([layers]), linear(1.0, 0.0), 2.0, some_share(rng))


def _never(rng: np.random.Generator) -> Unit:
    sign = float(rng.choice([-1.0, 1.0]))
    weight = sign * float(rng.choice([2.0**-200, 2.0**-1074, 2.0**-1022, 2.0**-30, 1.0, 3e-300, 2.0**-100, 8.0]))
    # Beyond the range that the checker takes on, and within it.
    bias = rng.choice([1e308, 1.7e308, 2.0**1023]) if rng.random() < 0.4 else 2.0 ** int(rng.integers(20, 790))
    return weight, -float(bias), float(rng.choice([1.0, -1.0, 0.5]))


def any_magnitude(rng: np.random.Generator) -> ClaimCase:
    """Random layers with weights of every magnitude."""
    styles = ("plain", "dyadic", "huge", "tiny", "wide", "subnormal", "signed zeros")
    count, hidden = int(rng.integers(1, 6)), int(rng.integers(1, 4))

    def number(*some: str) -> float:
        return float(draw(rng, str(rng.choice(some or styles))))

    def unit() -> Unit:
        # Products near 1 keep outputs at an ordinary size, whatever the weights.
        scale = float(np.ldexp(1.0, int(rng.integers(-1000, 1001)))) if rng.random() < 0.4 else 1.0
        back = number("dyadic", "plain") / scale if rng.random() < 0.7 else number()
        return number("dyadic", "plain") * scale, number("dyadic", "plain") * scale, back

    layers = [[unit() if rng.random() < 0.7 else _never(rng) for _ in range(hidden)] for _ in range(count)]
    function = linear(1.0, 0.0) if rng.random() < 0.6 else hinge(float(rng.random()))
    p = float(rng.choice([1.0, 2.0, 3.0]))
    return scalar_claim(f"layers {layers}", scalar_network([layers]), function, p, some_share(rng))
