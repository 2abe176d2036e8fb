"""Units that only seem to read one direction: the products that would tell them apart round to 0."""

import numpy as np

from anyformer.networks import BlockShape, FeedForwardStage, Network
from tests.hunt.enclosures import EnclosureCase


def parallel_units(rng: np.random.Generator) -> EnclosureCase:
    """A unit that reads both coordinates beside one that reads the first alone, by a far smaller weight."""
    little = int(rng.choice([0, 1, 2, 100, 300, 500]))
    share, small = 0.75 * 2.0**-little, 2.0 ** -min(1074, 1076 - little + int(rng.choice([-2, 0, 30])))
    if rng.random() < 0.5:
        small = 2.0 ** -int(rng.integers(1, 990 - little))
    layers = int(rng.integers(1, 4))
    plain, tiny = (1.0, share), (small, 0.0)
    W_1 = np.array([[plain, tiny] if rng.random() < 0.7 else [tiny, plain] for _ in range(layers)])
    b_1 = np.where(W_1[..., 0] == 1, -float(rng.choice([1e3, 1e6])), -small * float(rng.integers(0, 4)))
    W_2 = (
        (W_1[:, None, :, 0] != 1) * np.array([[[1.0], [0.0]]]) * min(1 / small if small > 1e-307 else 1e307, 2.0**1020)
    )
    W_2[:, 1] = (W_1[..., 0] == 1) * 1.0
    size = 2.0 ** int(rng.integers(4, 40))
    low = size * np.array([[1.0, -float(rng.choice([2.0, 4.0, 8.0])) * 2.0**little], [1.0, 1.0]])
    high = low + size * float(rng.choice([0.0, 0.25]))
    network = Network(2, 2, BlockShape(1, 1, 2), (FeedForwardStage("layers", W_1, b_1, W_2, np.zeros((layers, 2))),))
    what = f"W_1 = {W_1.tolist()}, b_1 = {b_1.tolist()}, W_2 = {W_2.tolist()}"
    return EnclosureCase(what, network, low, high, int(rng.integers(2**31)))
