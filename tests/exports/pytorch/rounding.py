"""How far two programs of one network may be apart that differ only in the order of sums and the last bits of exp.

Both are compared with real arithmetic, at given inputs. The error of every number is followed through the layers:
a sum of k products is off by at most γ_k·Σ|a||b| (Higham, Accuracy and Stability, §3.1) plus what its terms are off.
Softmax with scores off by S gives weights that are off by a factor of e^{2S} at most. Sparsemax, and entmax up to
α = 2, have Jacobians diag(s) − s sᵀ/Σs with s <= 1, so no weight moves by more than the scores in the Euclidean norm.
"""

import numpy as np

from anyformer.networks import AttentionLayer, Network, Softmax
from anyformer.networks.evaluate import add_positions, apply_attention, apply_feed_forward, embed
from anyformer.networks.network import View

# exp is within 8 ulps by the certificate; dividing and taking the largest score off are two more roundings.
EXP = 8


def apart(network: Network, x: np.ndarray) -> np.ndarray:
    """The largest difference for each input, (batch, tokens, width)."""
    u = network.dtype.unit
    state, error = x, np.zeros_like(x)
    if network.W_E is not None:
        error = _linear(network.W_E, 0.0, x, error, u)
        state = embed(network, x)
    if network.positional_encoding is not None:
        state = add_positions(network, state)
        error = error * (1 + u) + u * np.abs(state)
    for k, stage in enumerate(network.stages):
        views = network.views(k) if hasattr(stage, "W_Q") else [None] * len(stage)
        for layer, view in zip((stage[j] for j in range(len(stage))), views, strict=True):
            if isinstance(layer, AttentionLayer):
                moved, after = _attention(layer, view, state, error, u), apply_attention(layer, state, view)
            else:
                hidden = np.maximum(state @ layer.W_1.T + layer.b_1, 0)
                moved = _linear(layer.W_1, layer.b_1, state, error, u)
                moved = _linear(layer.W_2, layer.b_2, hidden, moved, u)
                after = apply_feed_forward(layer, state)
            error = (error + moved) * (1 + u) + 2 * u * (np.abs(state) + np.abs(after))
            state = after
    if network.W_R is not None:
        error = _linear(network.W_R, network.b_R, state, error, u)
    # Two programs; and once more, for the states that magnitudes are taken from are rounded as well.
    return 4 * error


def _gamma(terms: int, u: float) -> float:
    return terms * u / (1 - terms * u)


def _linear(W: np.ndarray, b: np.ndarray | float, x: np.ndarray, error: np.ndarray, u: float) -> np.ndarray:
    size, off = np.abs(x) + error, error @ np.abs(W).T
    return off + _gamma(W.shape[1] + 1, u) * (size @ np.abs(W).T + np.abs(b))


def _attention(layer: AttentionLayer, view: View, x: np.ndarray, error: np.ndarray, u: float) -> np.ndarray:
    total = np.zeros_like(x)
    for h in range(len(layer.W_Q)):
        total += _head(layer, h, None if view is None else view[h % len(view)], x, error, u)
    return total * (1 + _gamma(len(layer.W_Q), u))


def _head(layer, h, seen, x, error, u):
    tokens, head_size = x.shape[1], len(layer.b_Q[h])
    q, k, v = x @ layer.W_Q[h].T + layer.b_Q[h], x @ layer.W_K[h].T, x @ layer.W_V[h].T
    dq = _linear(layer.W_Q[h], layer.b_Q[h], x, error, u)
    dk, dv = (_linear(W[h], 0.0, x, error, u) for W in (layer.W_K, layer.W_V))
    scores = q @ k.swapaxes(1, 2)
    size = (np.abs(q) + dq) @ (np.abs(k) + dk).swapaxes(1, 2)
    off = dq @ (np.abs(k) + dk).swapaxes(1, 2) + (np.abs(q) + dq) @ dk.swapaxes(1, 2) + _gamma(head_size, u) * size
    visible = np.ones((tokens, tokens), dtype=bool) if seen is None else np.zeros((tokens, tokens), dtype=bool)
    if seen is not None:
        visible[seen.queries(), seen.indices] = True
    weights = np.zeros_like(scores)
    for query in range(tokens):
        weights[:, query, visible[query]] = layer.probability_map(scores[:, query, visible[query]])
    masked = np.where(visible, off + 2 * u * np.abs(size), 0.0)
    if isinstance(layer.probability_map, Softmax):
        factor = np.expm1(2 * masked.max(axis=-1, keepdims=True)) + _gamma(2 * (EXP + tokens + 2), u)
        moved = weights * factor
    else:
        # The map's own rounding: sums of so many powers, the τ that follows from them, a power and a division.
        moved = np.where(visible, np.linalg.norm(masked, axis=-1, keepdims=True) + _gamma(16 * (tokens + 2), u), 0.0)
    mixed_off = moved @ (np.abs(v) + dv) + weights @ dv + _gamma(tokens + 1, u) * (weights + moved) @ (np.abs(v) + dv)
    return _linear(layer.W_O[h], 0.0, weights @ v, mixed_off, u)
