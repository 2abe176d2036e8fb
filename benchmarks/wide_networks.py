"""`python -m benchmarks.wide_networks`: networks with an embedding on both engines, beside NumPy's matrix products.

The weights are as a compiler makes them: a hidden unit reads two channels and writes one. Matrix products take the
zeros along; their sums have another order, so their last bits differ.
"""

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Array
from anyformer.networks import AttentionLayer, AttentionStage, BlockShape, FeedForwardStage, Network, Stage
from anyformer.networks.layers import layers
from anyformer.runtime import Engine, run
from benchmarks.interleave import Program, interleave
from benchmarks.machine import THREADS
from benchmarks.results import Size

BLOCKS = 3
HIDDEN = 500
WIDTH = 2
ROUNDS = {Size.FULL: 5, Size.QUICK: 1}
SEQUENCES = {Size.FULL: 64, Size.QUICK: 4}


@dataclass(frozen=True, eq=False)
class Case:
    """A network, and what is special about it."""

    name: str
    network: Network


def cases() -> list[Case]:
    """Attention by content; a fixed mixing by one-hot positions; a mean over all tokens."""
    return [
        Case("128 tokens, stream 20, attention by content", _network(128, 20, _by_content)),
        Case("128 tokens, stream 132, shift by one-hot positions", _network(128, 132, _shift)),
        Case("512 tokens, stream 20, mean over all tokens", _network(512, 20, _mean)),
        Case("512 tokens, stream 516, shift by one-hot positions", _network(512, 516, _shift)),
    ]


def measure(size: Size) -> dict[str, Any]:
    """Seconds per token of every case."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(THREADS, user_api="blas"):
        return {case.name: _measure(case.network, size) for case in cases()}


def _measure(network: Network, size: Size) -> dict[str, float]:
    x = np.random.default_rng(0).normal(size=(SEQUENCES[size], network.tokens, WIDTH))
    programs = [
        Program("compiled", lambda: run(network, x, engine=Engine.COMPILED, threads=THREADS)),
        Program("numpy", lambda: run(network, x, engine=Engine.NUMPY, threads=THREADS)),
        Program("matrix products", lambda: by_matrix_products(network, x)),
    ]
    outputs = [program.call() for program in programs]
    assert np.array_equal(outputs[0], outputs[1]), "both engines return the same bits"
    # Weights and values are near 1, and sums have at most a few hundred terms.
    assert np.allclose(outputs[0], outputs[2], rtol=1e-9, atol=1e-9), "it is the same network"
    timings = interleave(programs, ROUNDS[size])
    return {program.name: timing.best / x[..., 0].size for program, timing in zip(programs, timings, strict=True)}


def by_matrix_products(network: Network, x: Array) -> Array:
    """The network as people write it, with NumPy."""
    assert network.W_E is not None
    assert network.W_R is not None
    state = x @ network.W_E.T + network.positional_encoding
    for layer in layers(network.stages):
        if isinstance(layer, AttentionLayer):
            state = state + sum(_head(layer, h, state) for h in range(len(layer.W_Q)))
        else:
            state = state + np.maximum(state @ layer.W_1.T + layer.b_1, 0) @ layer.W_2.T + layer.b_2
    return np.asarray(state @ network.W_R.T + network.b_R)


def _head(layer: AttentionLayer, h: int, x: Array) -> Array:
    scores = (x @ layer.W_Q[h].T + layer.b_Q[h]) @ (x @ layer.W_K[h].T).swapaxes(-1, -2)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return np.asarray(weights @ (x @ layer.W_V[h].T) @ layer.W_O[h].T)


def _network(tokens: int, stream: int, attention: Any) -> Network:
    """Channels 0 and 1 hold the input, 2 and 3 what was mixed, the last ones positions, as many as fit."""
    rng = np.random.default_rng([tokens, stream])
    places = min(tokens, stream - 2 * WIDTH)
    positions = np.hstack([np.zeros((tokens, stream - places)), np.eye(tokens)[:, :places]])
    stages: list[Stage] = []
    for _ in range(BLOCKS):
        stages += [attention(rng, tokens, stream), _feed_forward(rng, stream)]
    shape = BlockShape(1, max(stage.sizes.get("head_size", 1) for stage in stages), HIDDEN)
    W_E, W_R = np.eye(stream)[:, :WIDTH], np.eye(stream)[WIDTH : 2 * WIDTH]
    return Network(tokens, WIDTH, shape, tuple(stages), positions, None, W_E, W_R, np.zeros(WIDTH))


def _feed_forward(rng: np.random.Generator, stream: int) -> FeedForwardStage:
    """Two channels a unit, of which the first is no position; it writes no position."""
    units, content = np.arange(HIDDEN), 2 * WIDTH
    W_1, W_2 = np.zeros((HIDDEN, stream)), np.zeros((stream, HIDDEN))
    W_1[units, rng.integers(content, stream, HIDDEN)] = rng.normal(size=HIDDEN)
    W_1[units, rng.integers(0, content, HIDDEN)] = rng.normal(size=HIDDEN)
    W_2[rng.integers(0, content, HIDDEN), units] = rng.normal(size=HIDDEN) / HIDDEN
    return FeedForwardStage("feed", W_1[None], rng.normal(size=(1, HIDDEN)), W_2[None], np.zeros((1, stream)))


def _by_content(rng: np.random.Generator, tokens: int, stream: int) -> AttentionStage:
    arrays = _values(stream, WIDTH)
    arrays["W_Q"][0, 0, 0, :WIDTH], arrays["W_K"][0, 0, 0, :WIDTH] = rng.normal(size=(2, WIDTH))
    return AttentionStage("by content", **arrays)


def _mean(rng: np.random.Generator, tokens: int, stream: int) -> AttentionStage:
    return AttentionStage("mean", **_values(stream, WIDTH))


def _shift(rng: np.random.Generator, tokens: int, stream: int) -> AttentionStage:
    """Every token finds the one before it: e⁻⁸⁰⁰ is 0."""
    arrays = _values(stream, tokens)
    arrays["W_Q"][0, 0, :, stream - tokens :] = 800 * np.roll(np.eye(tokens), -1, axis=0)
    arrays["W_K"][0, 0, :, stream - tokens :] = np.eye(tokens)
    return AttentionStage("shift", **arrays)


def _values(stream: int, head_size: int) -> dict[str, Array]:
    """One head that adds the input channels, mixed, to channels of their own."""
    inward = np.zeros((1, 1, head_size, stream))
    W_V, W_O = inward.copy(), np.zeros((1, 1, stream, head_size))
    W_V[0, 0, :WIDTH, :WIDTH], W_O[0, 0, WIDTH : 2 * WIDTH, :WIDTH] = np.eye(WIDTH), np.eye(WIDTH)
    return {"W_Q": inward.copy(), "b_Q": inward[..., 0], "W_K": inward.copy(), "W_V": W_V, "W_O": W_O}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide_networks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    size = Size.QUICK if parser.parse_args().quick else Size.FULL
    for name, seconds in measure(size).items():
        products = seconds["matrix products"]
        print(f"{name} ({BLOCKS} blocks, {HIDDEN} hidden units, {THREADS} threads)")
        for program, one in seconds.items():
            print(
                f"  {program:16} {one * 1e6:9.3f} µs a token, {one / products:7.3f} times matrix products", flush=True
            )


if __name__ == "__main__":
    main()
