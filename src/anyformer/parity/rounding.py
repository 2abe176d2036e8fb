"""How far two programs of one network may be apart that differ only in the order of sums and the last bits of exp.

Both are compared with real arithmetic, at given inputs. The error of every number is followed through the layers: a sum
of k products is off by at most k roundings of Σ|a||b| (Higham, Accuracy and Stability, §3.1) plus what its terms are
off. Softmax with scores off by S gives weights that are off by a factor of e^{2S} at most. Sparsemax, and entmax up to
α = 2, have Jacobians diag(s) − s sᵀ/Σs with s <= 1, so no weight moves by more than the scores in the Euclidean norm.
"""

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.networks.dtypes import DType
from anyformer.networks.evaluate import add_positions, apply_attention, apply_feed_forward, embed
from anyformer.networks.layers import AttentionLayer, FeedForwardLayer
from anyformer.networks.network import Network, View
from anyformer.networks.probability_maps import Softmax
from anyformer.patterns.neighbours import Neighbours

# exp is within 8 ulps, 16 roundings, by the certificate; taking off the largest score and dividing are two more.
EXP_ROUNDINGS = 18
# Some programs scale queries and divide scores, which rounds a weight, a query and a score more.
SCORE_ROUNDINGS = 6


def rounding_bound(network: Network, x: Array) -> Array:
    """The largest difference of two programs in the network's type, for every output entry, (batch, tokens, width)."""
    dtype = network.dtype
    state, error = x, np.zeros_like(x)
    if network.W_E is not None:
        error = _linear(network.W_E, 0.0, x, error, dtype)
        state = embed(network, x)
    if network.positional_encoding is not None:
        state = add_positions(network, state)
        error = error + dtype.unit * (np.abs(state) + error)
    with np.errstate(all="ignore"):  # a bound that overflows is infinite
        for k, stage in enumerate(network.stages):
            for j, view in enumerate(network.views(k)):
                layer = stage[j]
                if isinstance(layer, AttentionLayer):
                    moved, after = _attention(layer, view, state, error, dtype), apply_attention(layer, state, view)
                else:
                    moved, after = _feed_forward(layer, state, error, dtype), apply_feed_forward(layer, state)
                error = error + moved + dtype.roundings(2) * (np.abs(state) + np.abs(after) + error + moved)
                state = after
        if network.W_R is not None and network.b_R is not None:
            error = _linear(network.W_R, network.b_R, state, error, dtype)
    # Two programs; and once more, for the states that magnitudes are taken from are rounded as well.
    return np.asarray(np.nan_to_num(4 * error, nan=np.inf, posinf=np.inf))


def _linear(W: Array, b: Array | float, x: Array, error: Array, dtype: DType) -> Array:
    """How far W x + b may be off, if x is."""
    size = (np.abs(x) + error) @ np.abs(W).T + np.abs(b)
    lost = (W.shape[1] + 1) * dtype.underflow
    return np.asarray(error @ np.abs(W).T + dtype.roundings(W.shape[1] + 1) * size + lost)


def _feed_forward(layer: FeedForwardLayer, x: Array, error: Array, dtype: DType) -> Array:
    hidden = np.maximum(x @ layer.W_1.T + layer.b_1, 0.0)
    return _linear(layer.W_2, layer.b_2, hidden, _linear(layer.W_1, layer.b_1, x, error, dtype), dtype)


def _attention(layer: AttentionLayer, view: View, x: Array, error: Array, dtype: DType) -> Array:
    total = np.zeros_like(x)
    for h in range(len(layer.W_Q)):
        total += _head(layer, h, None if view is None else view[h % len(view)], x, error, dtype)
    return total * (1 + dtype.roundings(len(layer.W_Q)))


def _head(layer: AttentionLayer, h: int, seen: Neighbours | None, x: Array, error: Array, dtype: DType) -> Array:
    scores, off = _scores(layer, h, x, error, dtype)
    visible: Booleans = np.ones(scores.shape[1:], dtype=np.bool_)
    if seen is not None:
        visible = np.zeros_like(visible)
        visible[seen.queries(), seen.indices] = True
    weights = np.zeros_like(scores)
    for query in range(len(visible)):
        weights[:, query, visible[query]] = layer.probability_map(scores[:, query, visible[query]])
    moved = _moved(layer, weights, np.where(visible, off, 0.0), visible, dtype)
    values, of_values = x @ layer.W_V[h].T, _linear(layer.W_V[h], 0.0, x, error, dtype)
    sizes = np.abs(values) + of_values
    mixed = moved @ sizes + weights @ of_values + dtype.roundings(len(visible) + 1) * ((weights + moved) @ sizes)
    mixed += (len(visible) + 1) * dtype.underflow
    return _linear(layer.W_O[h], 0.0, weights @ values, mixed, dtype)


def _scores(layer: AttentionLayer, h: int, x: Array, error: Array, dtype: DType) -> tuple[Array, Array]:
    """The scores of all queries and keys, and how far off they may be."""
    queries, keys = x @ layer.W_Q[h].T + layer.b_Q[h], x @ layer.W_K[h].T
    of_queries = _linear(layer.W_Q[h], layer.b_Q[h], x, error, dtype)
    of_keys = _linear(layer.W_K[h], 0.0, x, error, dtype)
    most_queries, most_keys = np.abs(queries) + of_queries, np.abs(keys) + of_keys
    roundings = dtype.roundings(len(layer.b_Q[h]) + SCORE_ROUNDINGS)
    off = of_queries @ most_keys.swapaxes(1, 2) + most_queries @ of_keys.swapaxes(1, 2)
    return queries @ keys.swapaxes(1, 2), off + roundings * (most_queries @ most_keys.swapaxes(1, 2))


def _moved(layer: AttentionLayer, weights: Array, off: Array, visible: Booleans, dtype: DType) -> Array:
    """How far the weights may be off."""
    tokens = len(visible)
    if isinstance(layer.probability_map, Softmax):
        factor = np.expm1(2 * off.max(axis=-1, keepdims=True)) + dtype.roundings(2 * (EXP_ROUNDINGS + tokens))
        # A weight that underflows may be 0 or not.
        return np.where(visible, weights * factor + dtype.underflow, 0.0)
    # The map's own rounding: sums of so many powers, the τ that follows from them, a power and a division.
    own = dtype.roundings(16 * (tokens + 2))
    return np.where(visible, np.linalg.norm(off, axis=-1, keepdims=True) + own, 0.0)
