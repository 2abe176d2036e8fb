"""The slow evaluation: the definition of what a network means. Fast programs are compared with it, not built on it."""

import numpy as np
from numpy.typing import ArrayLike

from anyformer.errors import NetworkError
from anyformer.networks.activations import Array
from anyformer.networks.layers import AttentionLayer, FeedForwardLayer, Stage
from anyformer.networks.network import Network


def evaluate(network: Network, x: ArrayLike) -> Array:
    """Run the network on sequences of shape (batch, tokens, width).

    Example:
        >>> evaluate(network, np.zeros((5, 3, 1))).shape
        (5, 3, 1)
    """
    state = add_positions(network, as_sequences(x, network.tokens, network.width))
    for stage in network.stages:
        state = apply_stage(stage, state)
    return state


def as_sequences(x: ArrayLike, tokens: int, width: int) -> Array:
    """Read sequences of shape (batch, tokens, width), or say what is wrong with them."""
    array = np.array(x, dtype=np.float64)
    if array.ndim != 3 or array.shape[1:] != (tokens, width):
        raise NetworkError(
            f"sequences must have shape (batch, tokens, width) = (batch, {tokens}, {width}); got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise NetworkError(
            f"sequences must be finite; batch element {int(np.argwhere(~np.isfinite(array))[0][0])} is not"
        )
    return array


def add_positions(network: Network, x: Array) -> Array:
    """X + E, or X where the network has no positions."""
    return x if network.positional_encoding is None else np.asarray(x + network.positional_encoding)


def apply_stage(stage: Stage, x: Array) -> Array:
    """Apply every layer of a stage."""
    for k in range(len(stage)):
        layer = stage[k]
        x = apply_attention(layer, x) if isinstance(layer, AttentionLayer) else apply_feed_forward(layer, x)
    return x


def apply_attention(layer: AttentionLayer, x: Array) -> Array:
    """X + Σ_i W_O^i (W_V^i X) weighting[(W_K^i X)ᵀ (W_Q^i X + b_Q^i)]."""
    mixed = np.zeros_like(x)
    for W_Q, b_Q, W_K, W_V, W_O in zip(layer.W_Q, layer.b_Q, layer.W_K, layer.W_V, layer.W_O, strict=True):
        queries, keys, values = x @ W_Q.T + b_Q, x @ W_K.T, x @ W_V.T
        weights = layer.weighting(queries @ keys.swapaxes(-1, -2))
        mixed += (weights @ values) @ W_O.T
    return np.asarray(x + mixed)


def apply_feed_forward(layer: FeedForwardLayer, x: Array) -> Array:
    """X + W_2 activation(W_1 X + b_1) + b_2."""
    return np.asarray(x + (layer.activation(x @ layer.W_1.T + layer.b_1) @ layer.W_2.T + layer.b_2))
