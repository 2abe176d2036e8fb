"""Attention where rounding decides: ties, near ties, leads at the very lag from which losers have no weight."""

from dataclasses import replace

import numpy as np

from anyformer.networks import BlockShape, Network
from anyformer.networks.probability_maps import Entmax, Softmax, Sparsemax
from tests.hunt.build import attention_stage
from tests.hunt.enclosures import EnclosureCase

LAGS = {"softmax": 745.13321910194122, "sparsemax": 1.0, "entmax": 2.0}
MAPS = {"softmax": Softmax(), "sparsemax": Sparsemax(), "entmax": Entmax(1.5)}


def near_ties(rng: np.random.Generator) -> EnclosureCase:
    """A head of size 1 whose values are its keys, of width 1; keys lag by about the deciding lag, or by an ulp."""
    name = str(rng.choice(list(MAPS)))
    tokens = int(rng.integers(2, 6))
    stage = attention_stage(1, 1, 1, 1, lambda _, size: np.ones(size), MAPS[name])
    sharp = float(rng.choice([1.0, 2.0**10, 1e3, 2.0**60, 1e300]))
    output = float(rng.choice([1.0, -1.0, 2.0**-3, 1e10]))
    tilt = sharp * float(rng.choice([1.0, -1.0]))
    stage = replace(stage, W_Q=0 * stage.W_Q, b_Q=tilt * stage.b_Q, W_O=output * stage.W_O)
    top = float(rng.choice([0.0, 1.0, 0.1, -3.0, 2.0**52, 5e-324, 1e-310]))
    lag = LAGS[name] / sharp * float(rng.choice([1.0, 1 - 2e-16, 1 + 2e-16, 0.5, 1.1, 1 + 2.0**-21]))
    gaps = rng.choice([0.0, lag, 2 * lag, abs(top) * 2.0**-52, 5e-324, 1.0], tokens)
    gaps[rng.integers(tokens)] = 0.0
    keys = (top - gaps * np.sign(tilt))[:, None]
    grow = rng.choice([0.0, 0.0, 1.0, lag]) * rng.choice([0.0, 2.0**-52, 0.5, 1e-3], keys.shape)
    network = Network(tokens, 1, BlockShape(1, 1, 1), (stage,))
    what = f"{name}, b_Q = {tilt!r}, W_O = {output!r}, {tokens} keys near {top!r}"
    return EnclosureCase(what, network, keys, keys + grow, int(rng.integers(2**31)))


def plain_means(rng: np.random.Generator) -> EnclosureCase:
    """Scores that are all 0: the mean of keys, subnormal ones and huge ones too."""
    tokens = int(rng.integers(2, 8))
    stage = attention_stage(1, 1, 1, 1, lambda _, size: np.ones(size), Softmax())
    silent = str(rng.choice(["W_K", "W_Q"]))
    stage = replace(stage, **{silent: 0 * getattr(stage, silent)}, b_Q=0 * stage.b_Q)
    size = float(rng.choice([5e-324, 1e-308, 1.0, 3.0, 1e308, 2.0**1023]))
    values = size * rng.integers(-3, 4, (tokens, 1)) / 3 * float(rng.choice([1.0, 3.0]))
    values = np.clip(values, -1.7e308, 1.7e308)
    network = Network(tokens, 1, BlockShape(1, 1, 1), (stage,))
    return EnclosureCase(
        f"the mean of {values.ravel().tolist()}", network, values, values.copy(), int(rng.integers(2**31))
    )


def silent_heads(rng: np.random.Generator) -> EnclosureCase:
    """Heads that add nothing, W_O = 0, whose scores or values overflow."""
    size = float(rng.choice([1e160, 1e300, 1e308]))
    signs = rng.choice([-1.0, 1.0], 4)
    stage = attention_stage(1, 2, 1, 1, lambda _, shape: np.ones(shape), Softmax())
    names = ["W_Q", "b_Q", "W_K", "W_V"]
    arrays = {name: sign * size * getattr(stage, name) for name, sign in zip(names, signs, strict=True)}
    some = {name: array for name, array in arrays.items() if rng.random() < 0.6}
    stage = replace(stage, **some, W_O=0.0 * stage.W_O)
    tokens = int(rng.integers(2, 4))
    low = rng.choice([0.0, 1.0, -1.0, 10.0, 1e10], (tokens, 1))
    network = Network(tokens, 1, BlockShape(2, 1, 1), (stage,))
    high = low + rng.choice([0.0, 1.0])
    return EnclosureCase(f"W_O = 0, {sorted(some)} at ±{size!r}", network, low, high, int(rng.integers(2**31)))
