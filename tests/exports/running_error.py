"""How far two programs of one network may be apart on given inputs, if they differ by roundings alone.

The magnitudes are followed through the layers, and with them the error of a program that adds in any order: every sum
of n products is off by at most (n + 2) units of the sum of their magnitudes. SLACK is for terms of second order, and
for a few roundings more: TransformerLens divides scores, softmax subtracts the largest.
"""

import numpy as np

from anyformer.networks.evaluate import add_positions, embed, evaluate
from anyformer.networks.layers import AttentionLayer, layers
from anyformer.networks.network import Network

SLACK = 4.0


def apart(network: Network, x: np.ndarray) -> np.ndarray:
    """A bound for every entry of the output of the distance of two programs of the network's type."""
    unit = SLACK * network.dtype.unit
    state = add_positions(network, embed(network, network.dtype.rounded(x)))
    error = unit * network.width * np.abs(state)
    for layer in layers(network.stages):
        if isinstance(layer, AttentionLayer):
            state, error = attention(layer, state, error, unit)
        else:
            hidden, off = times(layer.W_1, state, error, layer.b_1, unit)
            added, more = times(layer.W_2, np.maximum(hidden, 0.0), off, layer.b_2, unit)
            state, error = state + added, error + more + unit * np.abs(state + added)
    if network.W_R is not None:
        state, error = times(network.W_R, state, error, network.b_R, unit)
    wrong = np.abs(state - evaluate(network, x)) - error
    assert (wrong <= 0).all(), "the magnitudes that are followed must be those of the network"
    return 2 * error


def times(W, x, error, b, unit):
    """W x + b, and how far off it may be."""
    size = np.abs(x) @ np.abs(W).T + np.abs(b)
    return x @ W.T + b, error @ np.abs(W).T + (W.shape[1] + 2) * unit * size


def attention(layer, x, error, unit):
    """Scores off by s move no weight by more than a factor e^2s; the mean of n values has n roundings and exp's."""
    mixed, off = np.zeros_like(x), np.zeros_like(x)
    tokens = x.shape[1]
    for W_Q, b_Q, W_K, W_V, W_O in zip(layer.W_Q, layer.b_Q, layer.W_K, layer.W_V, layer.W_O, strict=True):
        (q, of_q), (k, of_k) = times(W_Q, x, error, b_Q, unit), times(W_K, x, error, 0.0, unit)
        v, of_v = times(W_V, x, error, 0.0, unit)
        back = (0, 2, 1)
        scores = q @ k.transpose(back)
        size = np.abs(q) @ np.abs(k).transpose(back)
        s = of_q @ np.abs(k).transpose(back) + np.abs(q) @ of_k.transpose(back) + (len(b_Q) + 2) * unit * size
        s = s.max(axis=-1, keepdims=True) + unit * np.abs(scores).max(axis=-1, keepdims=True)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mean = weights @ v
        of_mean = weights @ of_v + (np.expm1(np.minimum(2 * s, 50)) + (2 * tokens + 16) * unit) * (weights @ np.abs(v))
        one, more = times(W_O, mean, of_mean, 0.0, unit)
        mixed, off = mixed + one, off + more + unit * np.abs(one)
    return x + mixed, error + off + unit * np.abs(x + mixed)
