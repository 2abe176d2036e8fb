"""Random expressions of the supported functions: NumPy's result for members lies in the enclosure."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from anyformer.intervals import IntervalArray
from tests.intervals.samples import members

SHAPE = (2, 3, 4, 5)
RNG = np.random.default_rng(3)
WEIGHTS = RNG.normal(size=(5, 5))
PLAIN = RNG.normal(size=SHAPE)

OF_ONE = {
    "negative": lambda x: -x,
    "abs": abs,
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "root": lambda x: np.sqrt(abs(x)),
    "exp": lambda x: np.exp(np.minimum(x, 3.0)),
    "log": lambda x: np.log(np.square(x) + 0.1),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "arctan": np.arctan,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "floor": np.floor,
    "clip": lambda x: np.clip(x, -0.5, 0.7),
    "relu": lambda x: np.maximum(x, 0),
    "leaky": lambda x: np.where(x > 0, x, 0.1 * x),
    "step": lambda x: (x >= 0.2) * x,
    "mean": lambda x: x - x.mean(axis=1, keepdims=True),
    "sum": lambda x: x + x.sum(axis=(1, 2), keepdims=True) / 12,
    "max": lambda x: x.max(axis=2, keepdims=True) - x,
    "std": lambda x: x / (0.3 + x.std(axis=-1, keepdims=True)),
    "norm": lambda x: np.linalg.norm(x, axis=1, keepdims=True) * x,
    "sort": lambda x: np.sort(x, axis=1),
    "median": lambda x: x - np.median(x, axis=2, keepdims=True),
    "cumsum": lambda x: np.cumsum(x, axis=1),
    "running": lambda x: np.maximum.accumulate(x, axis=2),
    "flip": lambda x: np.flip(x, axis=1) + np.roll(x, 1, axis=2),
    "weights": lambda x: x @ WEIGHTS,
    "gram": lambda x: np.einsum("abij,abkj->abik", x, x) @ x / 20,
    "window": lambda x: np.concatenate([x[:, :1], (x[:, 1:] + x[:, :-1]) / 2], axis=1),
    "prod": lambda x: x * np.prod(np.tanh(x), axis=1, keepdims=True),
}

OF_TWO = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / (1.5 + np.sin(y)),
    "quotient": lambda x, y: x / y,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "where": lambda x, y: np.where(x < y, x, y * 2),
    "attend": lambda x, y: np.exp(-np.square(x)) @ y.swapaxes(-1, -2) @ x,
}

trees = st.recursive(
    st.sampled_from(["x", "x", "plain"]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(OF_ONE)), inner), st.tuples(st.sampled_from(sorted(OF_TWO)), inner, inner)
    ),
    max_leaves=6,
)


class NotANumber(Exception):
    """A float64 step was NaN: the enclosure says nothing about what becomes of it."""


def value(tree, x):
    if isinstance(tree, str):
        return x if tree == "x" else PLAIN
    name, *parts = tree
    result = (OF_ONE if len(parts) == 1 else OF_TWO)[name](*(value(part, x) for part in parts))
    if type(result) is np.ndarray and np.isnan(result).any():
        raise NotANumber
    return result


@given(trees, st.integers(0, 2**32), st.sampled_from([0.0, 1e-12, 1e-3, 0.3, 2.0]), st.sampled_from([0.01, 1.0, 30.0]))
def test_members_of_random_expressions(tree, seed, width, scale):
    rng = np.random.default_rng(seed)
    low = scale * rng.normal(size=SHAPE)
    high = low + width * rng.uniform(size=SHAPE)
    with np.errstate(all="ignore"):
        try:
            result = value(tree, IntervalArray(low, high)) + IntervalArray(0 * low, 0 * low)
            computed = [value(tree, members(rng, low, high)) for _ in range(4)]
        except NotANumber:
            assume(False)
    assert result.shape == SHAPE
    assert all((result.low <= numbers).all() and (numbers <= result.high).all() for numbers in computed)


@given(trees, st.integers(0, 2**32))
def test_random_expressions_on_smaller_boxes(tree, seed):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=SHAPE)
    high = low + rng.uniform(size=SHAPE)
    with np.errstate(all="ignore"):
        try:
            outer = value(tree, IntervalArray(low, high)) + IntervalArray(0 * low, 0 * low)
            inner = value(tree, IntervalArray((low * 3 + high) / 4, high)) + IntervalArray(0 * low, 0 * low)
        except NotANumber:
            assume(False)
    # Where a bound on rounding is shared by a whole batch it may shrink less than the box; hence the ulps.
    slack = 2.0**-40 * (1 + np.abs(outer.low) + np.abs(outer.high))
    assert (outer.low - slack <= inner.low).all()
    assert (inner.high <= outer.high + slack).all()
