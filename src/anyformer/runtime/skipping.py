"""Running a network without walking through layers that are asleep.

The networks built here are thousands of feed-forward layers of which a token meets a handful. A sleeping layer adds
exactly 0, so leaving it out changes no bit. Which layers may be awake is derived from the weights (`networks.runs`),
not from who built them.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyformer.errors import NetworkError
from anyformer.networks.activations import Array, ReLU
from anyformer.networks.layers import AttentionStage, FeedForwardStage
from anyformer.networks.network import Network
from anyformer.networks.runs import Run, runs

BATCH = 1 << 14


def run(network: Network, x: ArrayLike) -> Array:
    """Run a softmax/ReLU network on sequences of shape (batch, tokens, width), in bounded memory."""
    sequences = np.asarray(x, dtype=np.float64)
    if sequences.ndim != 3 or sequences.shape[1:] != (network.tokens, network.width):
        raise NetworkError(
            f"sequences must have shape (batch, tokens, width) = (batch, {network.tokens}, {network.width}); "
            f"got {sequences.shape}"
        )
    if not np.isfinite(sequences).all():
        where = int(np.argwhere(~np.isfinite(sequences))[0][0])
        raise NetworkError(f"sequences must be finite; batch element {where} is {sequences[where].tolist()}")
    if not network.is_soft:
        raise NetworkError("only softmax and ReLU networks are run fast; use networks.evaluate for hard ones")
    steps = [(stage, runs(stage) if isinstance(stage, FeedForwardStage) else []) for stage in network.stages]
    output = np.empty_like(sequences)
    for part in _parts(len(sequences)):
        state = (
            sequences[part] if network.positional_encoding is None else sequences[part] + network.positional_encoding
        )
        for stage, its_runs in steps:
            state = _attend(stage, state) if isinstance(stage, AttentionStage) else _feed(stage, its_runs, state)
        output[part] = state
    return output


def _parts(count: int) -> Iterator[slice]:
    for start in range(0, count, BATCH):
        yield slice(start, start + BATCH)


def _attend(stage: AttentionStage, x: Array) -> Array:
    keep = (stage.W_O != 0).any(axis=(2, 3))
    for layer in range(len(stage)):
        mixed = np.zeros_like(x)
        for h in np.flatnonzero(keep[layer]):
            queries = x @ stage.W_Q[layer, h].T + stage.b_Q[layer, h]
            scores = queries @ (x @ stage.W_K[layer, h].T).swapaxes(-1, -2)
            weights = stage.weighting(scores)
            mixed += (weights @ (x @ stage.W_V[layer, h].T)) @ stage.W_O[layer, h].T
        x = x + mixed
    return x


def _feed(stage: FeedForwardStage, its_runs: list[Run], x: Array) -> Array:
    assert isinstance(stage.activation, ReLU)
    flat = x.reshape(-1, x.shape[-1]).copy()
    for one in its_runs:
        tokens = np.arange(len(flat))
        layer = np.full(len(flat), one.start)
        while len(tokens):
            low, high = one.reading(flat[tokens], flat[tokens])
            layer = one.next_awake(layer, low, high)
            awake = layer < one.stop
            tokens, layer = tokens[awake], layer[awake]
            flat[tokens] = _layer(stage, layer, flat[tokens])
            layer = layer + 1
    return flat.reshape(x.shape)


def _layer(stage: FeedForwardStage, layer: NDArray[np.int64], x: Array) -> Array:
    """One layer of its own for every token."""
    hidden = np.maximum((stage.W_1[layer] @ x[:, :, None])[:, :, 0] + stage.b_1[layer], 0.0)
    return np.asarray(x + ((stage.W_2[layer] @ hidden[:, :, None])[:, :, 0] + stage.b_2[layer]))
