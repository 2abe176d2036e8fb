"""Random networks with every axis of a different size."""

import numpy as np

from anyformer.networks import AttentionStage, BlockShape, FeedForwardStage, Network
from anyformer.patterns import SparsityPattern


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


def embedded_network(
    seed: int,
    tokens: int = 5,
    width: int = 3,
    stream: int = 11,
    positions: bool = True,
    pattern: SparsityPattern | None = None,
    scale: float = 1.0,
) -> Network:
    """An embedding, stages that all differ in size, mostly zeros, channels that hold positions alone, a read-out.

    The heads of the first attention stage read those channels: one mixes by positions alone, one asks nothing, one has
    dead rows, and one asks by content. `scale` makes all feed-forward weights larger.
    """
    rng = np.random.default_rng(seed)
    free = stream // 2
    W_E = _sparse(rng, (stream, width))
    W_E[free:] = 0.0
    mix = _sparse_attention(rng, heads=4, head_size=3, width=stream, writes=free)
    mix["W_Q"][:, 0, :, :free] = mix["W_K"][:, 0, :, :free] = 0.0
    mix["W_Q"][:, 1], mix["b_Q"][:, 1] = 0.0, 0.0
    mix["W_Q"][:, 2, 0], mix["b_Q"][:, 2, 0], mix["W_K"][:, 2, 1] = 0.0, 0.0, 0.0
    stages = (
        _sparse_feed_forward(rng, 2, 7, stream, free, scale),
        AttentionStage("mix", **mix),
        _sparse_feed_forward(rng, 1, 13, stream, stream, scale),
        AttentionStage("again", **_sparse_attention(rng, heads=1, head_size=2, width=stream, writes=stream)),
        _sparse_feed_forward(rng, 1, 4, stream, stream, scale),
    )
    encoding = rng.normal(size=(tokens, stream)) if positions else None
    read_out = _sparse(rng, (width, stream)), rng.normal(size=width)
    return Network(tokens, width, BlockShape(4, 3, 13), stages, encoding, pattern, W_E, *read_out)


def _sparse(rng: np.random.Generator, shape: tuple[int, ...], share: float = 0.4) -> np.ndarray:
    return np.where(rng.random(shape) < share, rng.normal(size=shape), 0.0)


def _sparse_attention(
    rng: np.random.Generator, heads: int, head_size: int, width: int, writes: int
) -> dict[str, np.ndarray]:
    inward = (2 if heads == 1 else 1, heads, head_size, width)
    W_O = _sparse(rng, (*inward[:2], width, head_size)) / 4
    W_O[:, :, writes:] = 0.0
    W_Q, W_K, W_V = (_sparse(rng, inward) for _ in range(3))
    return {"W_Q": W_Q, "b_Q": _sparse(rng, inward[:3]), "W_K": W_K, "W_V": W_V, "W_O": W_O}


def _sparse_feed_forward(
    rng: np.random.Generator, layers: int, hidden: int, width: int, writes: int, scale: float
) -> FeedForwardStage:
    W_2, b_2 = _sparse(rng, (layers, width, hidden)) / 2 * scale, _sparse(rng, (layers, width))
    W_2[:, writes:], b_2[:, writes:] = 0.0, 0.0
    W_1 = _sparse(rng, (layers, hidden, width), 0.2) * scale
    return FeedForwardStage("feed", W_1, rng.normal(size=(layers, hidden)), W_2, b_2)
