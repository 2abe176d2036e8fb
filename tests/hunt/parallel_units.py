"""Units that only seem to read one direction: the products that would tell them apart round to 0."""

import numpy as np

from anyformer.networks import BlockShape, FeedForwardStage, Network
from tests.hunt.enclosures import EnclosureCase


def parallel_units(rng: np.random.Generator) -> EnclosureCase:
    """A unit that reads both coordinates beside one that reads the first, by a weight too small to be normal."""
    share = float(rng.choice([0.3, 0.25, 0.49, 1.0, -0.3]))
    small = 5e-324 * float(rng.choice([1.0, 1.0, 2.0, 3.0, 2.0**30]))
    layers = int(rng.integers(1, 4))
    plain, tiny = (1.0, share), (small, float(rng.choice([0.0, 0.0, 5e-324])))
    W_1 = np.array([[plain, tiny] if rng.random() < 0.7 else [tiny, plain] for _ in range(layers)])
    b_1 = np.where(W_1[..., 0] == 1, -float(rng.choice([1e3, 1e6])), -small * float(rng.integers(0, 4)))
    W_2 = np.zeros((layers, 2, 2)) + (W_1[:, None, :, 0] != 1) * 2.0 ** int(rng.integers(980, 1023))
    W_2[:, 1] = (W_1[..., 0] == 1) * 1.0
    size = 2.0 ** int(rng.integers(20, 70))
    low = size * np.array([[1.0, -float(rng.choice([2.0, 4.0, 8.0]))], [1.0, 1.0]])
    high = low + size * float(rng.choice([0.0, 0.25]))
    stage = FeedForwardStage("layers", W_1, b_1, W_2, np.zeros((layers, 2)))
    network = Network(2, 2, BlockShape(1, 1, 2), (stage,))
    what = f"W_1 = {W_1.tolist()}, b_1 = {b_1.tolist()}, W_2 = {W_2.tolist()}"
    return EnclosureCase(what, network, low, high, int(rng.integers(2**31)))
