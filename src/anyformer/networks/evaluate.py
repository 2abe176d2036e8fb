"""The slow evaluation: the definition of what a network means, to the last bit. Fast programs are compared with it.

The order of operations is part of the definition, so no result depends on the batch, the threads or the engine. In a
feed-forward layer every sum starts from its bias and takes one product after the other, each with a single rounding
(`fused`); the residual is added last. In attention products and sums are rounded one by one, from the first coordinate,
key or head to the last. A zero in the result has no sign.

A network of a narrower type (`dtypes`) rounds every one of these operations to that type, and the input first; exp is
computed in float64 and rounded.

An embedding W_E is computed as a feed-forward layer's sums are, from 0 and without a residual; the positions are added
to it. The read-out is computed in the same way, from b_R: one product W_R[i, c]·state[c] after the other.
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import Array, as_sequences
from anyformer.networks.dtypes import FLOAT64, DType
from anyformer.networks.fused import fused
from anyformer.networks.layers import AttentionLayer, FeedForwardLayer, Stage
from anyformer.networks.network import Network, View
from anyformer.networks.probability_maps import softmax_in
from anyformer.patterns.neighbours import Neighbours


def evaluate(network: Network, x: ArrayLike) -> Array:
    """Run the network on sequences of shape (batch, tokens, width).

    Example:
        >>> import anyformer as af
        >>> network = af.construct(af.targets.mean_scale(tokens=3), tolerance=0.5).network
        >>> evaluate(network, np.zeros((5, 3, 1))).shape
        (5, 3, 1)
    """
    sequences = network.dtype.rounded(as_sequences(x, network.tokens, network.width))
    state = add_positions(network, embed(network, sequences))
    for k, stage in enumerate(network.stages):
        state = apply_stage(stage, state, network.views(k), network.dtype)
    return read_out(network, state) + 0.0


def embed(network: Network, x: Array) -> Array:
    """W_E X, or X where the network has no embedding."""
    return x if network.W_E is None else _fused_times(network.W_E, x, np.zeros(network.stream_width), network.dtype)


def read_out(network: Network, state: Array) -> Array:
    """W_R X + b_R, or X where the network has no embedding."""
    if network.W_R is None or network.b_R is None:
        return state
    return _fused_times(network.W_R, state, network.b_R, network.dtype)


def add_positions(network: Network, x: Array) -> Array:
    """X + E, or X where the network has no positions."""
    return x if network.positional_encoding is None else network.dtype.rounded(x + network.positional_encoding)


def apply_stage(stage: Stage, x: Array, views: list[View] | None = None, dtype: DType = FLOAT64) -> Array:
    """Apply every layer of a stage; `views` says which keys each attention layer may look at, if not all."""
    for k in range(len(stage)):
        layer, view = stage[k], None if views is None else views[k]
        if isinstance(layer, AttentionLayer):
            x = apply_attention(layer, x, view, dtype)
        else:
            x = apply_feed_forward(layer, x, dtype)
    return x


def apply_attention(layer: AttentionLayer, x: Array, view: View = None, dtype: DType = FLOAT64) -> Array:
    """X + Σ_i W_O^i (W_V^i X) probability_map[(W_K^i X)ᵀ (W_Q^i X + b_Q^i)], over the keys in view."""
    mixed = np.zeros_like(x)
    for h, (W_Q, b_Q, W_K, W_V, W_O) in enumerate(
        zip(layer.W_Q, layer.b_Q, layer.W_K, layer.W_V, layer.W_O, strict=True)
    ):
        if not W_O.any():
            continue
        queries = dtype.rounded(_times(W_Q, x, dtype) + b_Q)
        keys, values = _times(W_K, x, dtype), _times(W_V, x, dtype)
        seen = None if view is None else view[h % len(view)]
        weights = _weights(layer, _pairwise(queries, keys, dtype), seen, dtype)
        mixed = dtype.rounded(mixed + _times(W_O, _pairwise(weights, values.swapaxes(-1, -2), dtype), dtype))
    return np.asarray(dtype.rounded(x + mixed))


def _weights(layer: AttentionLayer, scores: Array, seen: Neighbours | None, dtype: DType) -> Array:
    """The weights of all keys for every query; keys out of view do not enter the map at all."""
    # Only softmax has a meaning in narrower types.
    to_weights = layer.probability_map if dtype == FLOAT64 else partial(softmax_in, dtype)
    if seen is None:
        return to_weights(scores)
    weights = np.zeros_like(scores)
    for query in range(seen.tokens):
        keys = seen.keys_of(query)
        weights[..., query, keys] = to_weights(scores[..., query, keys])
    return weights


def _times(W: Array, x: Array, dtype: DType) -> Array:
    """W x for every token: one product after the other is added."""
    return _pairwise(x, W, dtype)


def _pairwise(a: Array, b: Array, dtype: DType) -> Array:
    """Σ_k a[…, i, k]·b[…, j, k] for all i and j, in the order of k."""
    total = dtype.rounded(a[..., :, None, 0] * b[..., None, :, 0])
    for k in range(1, a.shape[-1]):
        total = dtype.rounded(total + dtype.rounded(a[..., :, None, k] * b[..., None, :, k]))
    return np.asarray(total)


def apply_feed_forward(layer: FeedForwardLayer, x: Array, dtype: DType = FLOAT64) -> Array:
    """X + W_2 activation(W_1 X + b_1) + b_2."""
    hidden = layer.activation(_fused_times(layer.W_1, x, layer.b_1, dtype))
    return np.asarray(dtype.rounded(x + _fused_times(layer.W_2, hidden, layer.b_2, dtype)))


def _fused_times(W: Array, x: Array, b: Array, dtype: DType) -> Array:
    """W x + b for every token: the bias, then one product after the other, each with a single rounding."""
    total = np.broadcast_to(b, (*x.shape[:-1], len(b)))
    for k in range(x.shape[-1]):
        # Products with 0 change nothing, unless the other factor has overflowed.
        if x[..., k].any() and (W[:, k].any() or not np.isfinite(x[..., k]).all()):
            total = fused(x[..., k, None], W[:, k], total, dtype)
    return np.asarray(total)
