"""Functions as users write them, on random boxes: members inside, and enclosures that shrink with the box."""

import numpy as np
import pytest

from anyformer.intervals import enclose
from tests.intervals.samples import members

TOKENS, WIDTH = 3, 4
RNG = np.random.default_rng(11)
QUERY, KEY, VALUE = RNG.normal(size=(3, WIDTH, WIDTH)) / 2
HIDDEN, OUT = RNG.normal(size=(WIDTH, 5)), RNG.normal(size=(5, WIDTH))
CENTROIDS = RNG.normal(size=(6, WIDTH))


def softmax(x, axis):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def attention(x):
    scores = (x @ QUERY) @ (x @ KEY).swapaxes(1, 2) / np.sqrt(WIDTH)
    return x + softmax(scores, -1) @ (x @ VALUE)


def causal_attention(x):
    scores = np.einsum("bik,bjk->bij", x @ QUERY, x @ KEY)
    scores = np.where(np.tril(np.ones((TOKENS, TOKENS), dtype=bool)), scores, -np.inf)
    return np.einsum("bij,bjk->bik", softmax(scores, -1), x)


def gelu_layer(x):
    hidden = x @ HIDDEN + 0.1
    hidden = 0.5 * hidden * (1 + np.tanh(np.sqrt(2 / np.pi) * (hidden + 0.044715 * hidden**3)))
    return x + hidden @ OUT


def layer_norm(x):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def moving_average(x):
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0)), mode="edge")
    return (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3


def piecewise(x):
    return np.where(x < -0.5, -1.0, np.where(x > 0.5, x**2, 2 * x))


def filled_in_place(x):
    result = np.zeros_like(x)
    result[:, 0] = x[:, 0]
    for token in range(1, TOKENS):
        result[:, token] = np.maximum(result[:, token - 1] * 0.5, x[:, token])
    result[..., 1] += 1.0
    return result


def to_nearest_centroid(x):
    distances = np.linalg.norm(x[:, :, np.newaxis] - CENTROIDS, axis=-1)
    return distances.min(axis=-1, keepdims=True) * np.ones(WIDTH)


FUNCTIONS = {
    "softmax over tokens": lambda x: softmax(x, 1),
    "times the mean": lambda x: x * x.mean(axis=1, keepdims=True),
    "sort": lambda x: np.sort(x, axis=1),
    "running maximum": lambda x: np.maximum.accumulate(x, axis=1),
    "prefix sums": lambda x: np.cumsum(x, axis=1) / np.arange(1, TOKENS + 1)[:, np.newaxis],
    "median": lambda x: x - np.median(x, axis=1, keepdims=True),
    "reversal": lambda x: x[:, ::-1],
    "moving average": moving_average,
    "attention": attention,
    "causal attention": causal_attention,
    "gelu layer": gelu_layer,
    "layer norm": layer_norm,
    "piecewise": piecewise,
    "filled in place": filled_in_place,
    "distance to the nearest centroid": to_nearest_centroid,
    "bump": lambda x: np.where(np.abs(x) < 1, np.cos(np.pi * x / 2) ** 2, 0.0),
    "constant": lambda x: np.ones(x.shape),
}


@pytest.mark.parametrize("width", [0.0, 1e-3, 0.2, 2.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_members_stay_inside(name, width):
    rng = np.random.default_rng(1)
    low = rng.uniform(-1.5, 1.5, (50, TOKENS, WIDTH))
    high = low + width * rng.uniform(size=low.shape)
    result = enclose(FUNCTIONS[name], low, high)
    for _ in range(20):
        values = FUNCTIONS[name](members(rng, low, high))
        assert (result.low <= values).all()
        assert (values <= result.high).all()


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"piecewise"}))
def test_enclosures_shrink_with_the_box(name):
    """All but the one with jumps are Lipschitz here with a constant below 2,000: layer norm, 1/√(10⁻⁵) at worst."""
    low = np.random.default_rng(2).uniform(-1.5, 1.5, (50, TOKENS, WIDTH))
    result = enclose(FUNCTIONS[name], low, low + 1e-9)
    assert (result.high - result.low <= 2000 * 1e-9).all()
