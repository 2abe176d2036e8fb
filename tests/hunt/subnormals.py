"""Where float64 loses bits though every weight is a power of two: products below the smallest normal float."""

from dataclasses import replace

import numpy as np

from anyformer.networks import BlockShape, Network
from anyformer.networks.probability_maps import Entmax, Softmax, Sparsemax
from tests.hunt.build import attention_stage, scalar_network
from tests.hunt.enclosures import EnclosureCase

SMALLEST = 5e-324


def tiny_scales(rng: np.random.Generator) -> EnclosureCase:
    """t − t, by way of 2^−k t: exact in real arithmetic, and as far as powers of two go; for t near 0 as well."""
    small = int(rng.integers(1000, 1075)) if rng.random() < 0.5 else int(rng.integers(500, 1001))
    large = min(small, 1023) if rng.random() < 0.8 else int(rng.integers(500, 1024))
    bias = float(rng.choice([0.0, 0.0, -1.0, 1.0])) * 2.0**-small
    layers = [[(2.0**-small, bias, -(2.0**large) * float(rng.choice([1.0, 1.0, 0.5])))]]
    low = float(rng.choice([0.0, 0.0, 0.5, 1.0, 0.25, 3.0, 2.0**-1000]))
    high = (low or 1.0) * float(rng.choice([1.25, 2.0, 1 + 2.0**-40]))
    box = np.full((2, 1), low), np.full((2, 1), high)
    points = [np.ldexp(1 + rng.random((2, 1)), -rng.integers(20, 1074, (2, 1))) for _ in range(8 if low == 0 else 0)]
    what = f"layers {layers} on [{low!r}, {high!r}]"
    return EnclosureCase(what, scalar_network([layers]), *box, int(rng.integers(2**31)), points)


def halved_ties(rng: np.random.Generator) -> EnclosureCase:
    """Keys of a few smallest floats that share all the weight: each of their shares may round to 0."""
    tokens = int(rng.integers(2, 6))
    probability_map = [Softmax(), Sparsemax(), Entmax(1.5)][rng.integers(3)]
    stage = attention_stage(1, 1, 1, 1, lambda _, size: np.ones(size), probability_map)
    tilt = float(rng.choice([1.0, 1e300, -1e300, 1e308]))
    stage = replace(stage, W_Q=0 * stage.W_Q, b_Q=tilt * stage.b_Q, W_O=stage.W_O * float(rng.choice([1.0, 2.0**60])))
    keys = SMALLEST * float(rng.choice([1.0, 3.0, 5.0, 2.0**30 + 1])) * np.ones((tokens, 1))
    if rng.random() < 0.5:
        keys[rng.integers(tokens)] = -float(rng.choice([1.0, 1e3])) * np.sign(tilt)
    network = Network(tokens, 1, BlockShape(1, 1, 1), (stage,))
    what = f"{probability_map}, b_Q = {tilt!r}, keys {keys.ravel().tolist()}"
    return EnclosureCase(what, network, keys, keys.copy(), int(rng.integers(2**31)))
