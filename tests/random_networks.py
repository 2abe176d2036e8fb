"""Random networks with every axis of a different size."""

import numpy as np

from anyformer.networks import AttentionStage, BlockShape, FeedForwardStage, Network


def feed_forward_stage(
    rng: np.random.Generator, layers: int, hidden: int, width: int, name: str = "random"
) -> FeedForwardStage:
    return FeedForwardStage(
        name,
        rng.normal(size=(layers, hidden, width)),
        rng.normal(size=(layers, hidden)),
        rng.normal(size=(layers, width, hidden)) / hidden,
        rng.normal(size=(layers, width)),
    )


def attention_stage(
    rng: np.random.Generator, layers: int, width: int, heads: int = 2, head_size: int = 1, name: str = "random"
) -> AttentionStage:
    inward = (layers, heads, head_size, width)
    return AttentionStage(
        name,
        rng.normal(size=inward),
        rng.normal(size=inward[:3]),
        rng.normal(size=inward),
        rng.normal(size=inward),
        rng.normal(size=(layers, heads, width, head_size)) / 4,
    )


def random_network(seed: int, tokens: int, width: int, positions: bool = False) -> Network:
    rng = np.random.default_rng(seed)
    stages = (
        feed_forward_stage(rng, layers=3, hidden=4, width=width),
        attention_stage(rng, layers=2, width=width),
        feed_forward_stage(rng, layers=5, hidden=4, width=width),
    )
    encoding = rng.normal(size=(tokens, width)) if positions else None
    return Network(tokens, width, BlockShape(2, 1, 4), stages, encoding)
