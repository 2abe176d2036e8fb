"""Functions to be compiled, damaged and judged: every kind of step, few tokens, every axis of another size."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from anyformer.targets.attention_layer import attention
from anyformer.targets.domains import Box
from anyformer.targets.equivariant import centroid_distance, mean_scale, softmax
from anyformer.targets.positional import cumulative_mean, moving_average, running_maximum, sort
from anyformer.targets.target import Symmetry, Target


def own(function: Callable[..., Any], tokens: int, width: int, low: float = 0.0, high: float = 1.0) -> Target:
    """A target that knows its function alone."""
    return Target(function, tokens, width, None, function.__name__, Box(low, high), Symmetry.NONE)


def gate(x: Any) -> Any:
    return x * np.array([[0.5], [-1.0], [2.0]]) + np.array([[0.1], [0.0], [0.3]])


def layer_norm(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(0.3 + (centred**2).mean(axis=-1, keepdims=True))


def mixing(x: Any) -> Any:
    weights = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 1.0, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4], [-0.5, 0.0, 0.7, 0.1]])
    return weights @ x


def masked_attention(x: Any) -> Any:
    scores = x @ np.swapaxes(x, -1, -2)
    scores = np.where(np.tril(np.ones((4, 4), dtype=bool)), scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (shares / shares.sum(axis=-1, keepdims=True)) @ x


def norms(x: Any) -> Any:
    away = x - x.mean(axis=-2, keepdims=True)
    return away * 0.5 + np.sqrt((away**2).sum(axis=-1, keepdims=True))


def products(x: Any) -> Any:
    first, second = x[..., :1], x[..., 1:]
    return np.concatenate(
        [first * second.mean(axis=-1, keepdims=True), second * second.mean(axis=-2, keepdims=True)], axis=-1
    )


def kinks(x: Any) -> Any:
    away = x - x.mean(axis=-2, keepdims=True)
    return np.abs(np.exp(away) - 1.1) + np.maximum(away, 0.2) - np.minimum(x, away)


def elu(x: Any) -> Any:
    return np.where(x > 0, x, np.exp(x) - 1)


def distances(x: Any) -> Any:
    return np.sqrt(0.2 + np.square(x).mean(axis=-2, keepdims=True)) - np.log(1.5 + x) / (
        1 + x.mean(axis=-2, keepdims=True)
    )


def heights(x: Any) -> Any:
    return x - x.max(axis=-2, keepdims=True)


TARGETS: Final[dict[str, Callable[[], Target]]] = {
    "softmax": lambda: softmax(tokens=5, width=2),
    "mean-scale": lambda: mean_scale(tokens=3, width=2),
    "centroid-distance": lambda: centroid_distance(tokens=4, width=3),
    "attention": lambda: attention(tokens=3, width=2),
    "sort": lambda: sort(tokens=3, width=1),
    "running-maximum": lambda: running_maximum(tokens=5, width=2),
    "cumulative-mean": lambda: cumulative_mean(tokens=4, width=1),
    "moving-average": lambda: moving_average(tokens=5, width=1),
    "gate": lambda: own(gate, 3, 2, -1.0),
    "layer-norm": lambda: own(layer_norm, 4, 3),
    "mixing": lambda: own(mixing, 4, 3, -0.5),
    "masked-attention": lambda: own(masked_attention, 4, 2),
    "norms": lambda: own(norms, 4, 3),
    "products": lambda: own(products, 5, 3, -1.0),
    "kinks": lambda: own(kinks, 3, 2, -1.0),
    "elu": lambda: own(elu, 3, 2, -1.0),
    "distances": lambda: own(distances, 5, 2),
    "heights": lambda: own(heights, 4, 3),
}
