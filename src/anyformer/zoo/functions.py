"""Functions of the zoo that no ready-made target is: plain NumPy on (batch, tokens, width) arrays.

A model file never runs code. `anyformer verify DIR --target anyformer.zoo.functions:layer_norm` names one again.
"""

import numpy as np

from anyformer.arrays import Array


def distance_to_mean(x: Array) -> Array:
    """How far a token is from the mean of all: |x − mean|."""
    result: Array = np.abs(x - x.mean(axis=1, keepdims=True))
    return result


def gated_mean(x: Array) -> Array:
    """The mean of all tokens, let through where the token is above it: mean · sigmoid(6·(x − mean))."""
    mean = x.mean(axis=1, keepdims=True)
    result: Array = mean / (1 + np.exp(-6 * (x - mean)))
    return result


def layer_norm(x: Array) -> Array:
    """Centre, then divide by the spread: (x − mean) / √(variance + 0.1), over the tokens."""
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred**2).mean(axis=1, keepdims=True)
    result: Array = centred / np.sqrt(variance + 0.1)
    return result


def mean_of_squares(x: Array) -> Array:
    """x · mean of x²: square every token, average, multiply. The smallest program with a head between two layers."""
    result: Array = x * (x**2).mean(axis=1, keepdims=True)
    return result


def spread(x: Array) -> Array:
    """The largest token minus the smallest, at every token."""
    result: Array = (x.max(axis=1, keepdims=True) - x.min(axis=1, keepdims=True)) + 0 * x
    return result


def previous_token(x: Array) -> Array:
    """Every token becomes the one before it; the first becomes the last."""
    result: Array = np.roll(x, 1, axis=1)
    return result


def induction(x: Array) -> Array:
    """What came after tokens like this one: attend to places whose previous token is like mine, and copy them."""
    before = np.roll(x, 1, axis=1)
    scores = 4 * x @ before.swapaxes(1, 2)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Array = weights / weights.sum(axis=-1, keepdims=True) @ x
    return result


def two_layer_attention(x: Array) -> Array:
    """Self-attention, tanh, self-attention again."""
    return _attended(np.tanh(2 * _attended(x)))


def _attended(x: Array) -> Array:
    scores = x @ x.swapaxes(1, 2)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Array = weights / weights.sum(axis=-1, keepdims=True) @ x
    return result


def median(x: Array) -> Array:
    """The middle one of three tokens, at every token."""
    a, b, c = x[:, 0:1], x[:, 1:2], x[:, 2:3]
    middle = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    result: Array = middle + 0 * x
    return result
