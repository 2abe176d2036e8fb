"""Random small networks of every shape, and boxes to follow through them."""

from dataclasses import replace

import numpy as np

from anyformer.networks import BlockShape, FeedForwardStage, Network
from anyformer.networks.probability_maps import Entmax, Softmax, Sparsemax
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern
from tests.hunt.build import attention_stage
from tests.hunt.enclosures import EnclosureCase
from tests.hunt.palettes import draw, weights

ORDINARY = ("plain", "dyadic", "whole", "near")
EVERY = (*ORDINARY, "huge", "tiny", "wide", "subnormal", "signed zeros")
MAPS = (Softmax(), Softmax(), Softmax(), Sparsemax(), Entmax(1.5), Entmax(1.25))


def some_network(rng: np.random.Generator, styles: tuple[str, ...], kinds: str) -> Network:
    """A stage for every letter of `kinds`: f for feed-forward, a for attention."""
    tokens, width = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    shape = BlockShape(int(rng.integers(1, 3)), int(rng.choice([1, 1, 2])), int(rng.integers(1, 4)))
    stages = [
        _feed_forward(rng, styles, shape, width) if kind == "f" else _attention(rng, styles, shape, width)
        for kind in kinds
    ]
    positions = weights(rng, styles, (tokens, width)) if rng.random() < 0.2 else None
    pattern = _pattern(rng, tokens) if rng.random() < 0.2 else None
    return Network(tokens, width, shape, tuple(stages), positions, pattern)


def _feed_forward(rng: np.random.Generator, styles: tuple[str, ...], shape: BlockShape, width: int) -> FeedForwardStage:
    layers, hidden = int(rng.integers(1, 5)), shape.hidden_size
    W_1 = weights(rng, styles, (layers, hidden, width))
    if rng.random() < 0.5:
        # All units read one coordinate, with powers of two: the rule for one coordinate.
        mantissa, exponent = np.frexp(W_1)
        with np.errstate(all="ignore"):
            W_1 = np.ldexp(np.sign(mantissa), exponent - 1) * (np.arange(width) == rng.integers(width))
    return FeedForwardStage(
        "feed-forward",
        np.nan_to_num(W_1),
        weights(rng, styles, (layers, hidden)),
        weights(rng, styles, (layers, width, hidden)),
        weights(rng, styles, (layers, width)) if rng.random() < 0.3 else np.zeros((layers, width)),
    )


def _attention(rng: np.random.Generator, styles: tuple[str, ...], shape: BlockShape, width: int):
    stage = attention_stage(
        width,
        shape.heads,
        shape.head_size,
        int(rng.integers(1, 3)),
        lambda _, size: weights(rng, styles, size),
        MAPS[rng.integers(len(MAPS))],
    )
    if rng.random() < 0.5:
        stage = replace(stage, W_V=stage.W_K)
    if rng.random() < 0.3:
        # A pair of heads that differ in b_Q only: a selective shift.
        alike = {name: np.repeat(getattr(stage, name)[:, :1], shape.heads, axis=1) for name in ("W_Q", "W_K")}
        signs = np.array([1.0, -1.0])[: shape.heads, None, None]
        stage = replace(stage, **alike, W_V=alike["W_K"], W_O=stage.W_O[:, :1] * signs)
    sharp = float(rng.choice([1.0, 1.0, 100.0, 1e4, 1e17])) if styles == ORDINARY else 1.0
    stage = replace(stage, W_Q=stage.W_Q * sharp, b_Q=stage.b_Q * sharp)
    if rng.random() < 0.1:
        stage = replace(stage, W_O=0.0 * stage.W_O)
    return stage


def _pattern(rng: np.random.Generator, tokens: int) -> SparsityPattern:
    def some() -> Neighbours:
        rows = [np.flatnonzero((rng.random(tokens) < 0.5) | (np.arange(tokens) == k)) for k in range(tokens)]
        return Neighbours(np.cumsum([0, *map(len, rows)]), np.concatenate(rows))

    return SparsityPattern(tuple(tuple(some() for _ in range(rng.integers(1, 3))) for _ in range(rng.integers(1, 3))))


def some_box(rng: np.random.Generator, network: Network, styles: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Points, thin boxes, wide ones; with tokens that are equal now and then."""
    shape = (network.tokens, network.width)
    low = draw(rng, str(rng.choice(styles)), shape)
    kind = rng.integers(4)
    if kind == 0:
        high = low.copy()
    elif kind == 1:
        high = np.nextafter(low, np.inf)
    else:
        high = low + np.abs(draw(rng, str(rng.choice(styles)), shape))
    if rng.random() < 0.4:
        low[:], high[:] = low[:1], high[:1]
    low, high = np.clip(low, -1.7e308, 1.7e308), np.clip(high, -1.7e308, 1.7e308)
    return low, high


def _case(rng: np.random.Generator, styles: tuple[str, ...], kinds: str, boxes: tuple[str, ...]) -> EnclosureCase:
    network = some_network(rng, styles, kinds)
    low, high = some_box(rng, network, boxes)
    what = f"stages {kinds} of {network.shape}, {network.tokens} tokens of {network.width}, {styles}"
    return EnclosureCase(what, network, low, high, int(rng.integers(2**31)))


def ordinary_networks(rng: np.random.Generator) -> EnclosureCase:
    """Weights near 1."""
    return _case(rng, ORDINARY, str(rng.choice(["f", "a", "fa", "af", "faf"])), ORDINARY)


def any_networks(rng: np.random.Generator) -> EnclosureCase:
    """Weights of every magnitude."""
    return _case(rng, EVERY, str(rng.choice(["f", "a", "fa", "af"])), EVERY)


def subnormal_networks(rng: np.random.Generator) -> EnclosureCase:
    """Weights and inputs near the smallest floats."""
    styles = ("subnormal", "dyadic", "tiny", "signed zeros")
    return _case(rng, styles, str(rng.choice(["f", "a", "ff"])), styles)


def overflowing_networks(rng: np.random.Generator) -> EnclosureCase:
    """Weights near the largest floats beside ordinary ones."""
    return _case(rng, ("huge", "dyadic", "plain"), str(rng.choice(["f", "a", "fa", "af"])), ("dyadic", "huge", "plain"))
