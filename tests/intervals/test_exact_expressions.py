"""Random formulas in one number, evaluated exactly by Arb: rounding errors that pile up stay inside the enclosure."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyformer.intervals import IntervalArray
from tests.intervals.exact import BITS, arb, compare, flint
from tests.intervals.samples import members

OF_ONE = {
    "negative": (lambda x: -x, lambda x: -x),
    "abs": (abs, abs),
    "square": (np.square, lambda x: x * x),
    "cube": (lambda x: x**3, lambda x: x * x * x),
    "root": (lambda x: np.sqrt(abs(x)), lambda x: abs(x).sqrt()),
    "exp": (np.exp, lambda x: x.exp()),
    "log": (lambda x: np.log(np.square(x) + 0.5), lambda x: (x * x + arb(0.5)).log()),
    "sin": (np.sin, lambda x: x.sin()),
    "cos": (np.cos, lambda x: x.cos()),
    "tanh": (np.tanh, lambda x: x.tanh()),
    "arctan": (np.arctan, lambda x: x.atan()),
    "relu": (lambda x: np.maximum(x, 0.0), lambda x: x.max(arb(0))),
}

OF_TWO = {
    "add": (lambda x, y: x + y, lambda x, y: x + y),
    "subtract": (lambda x, y: x - y, lambda x, y: x - y),
    "multiply": (lambda x, y: x * y, lambda x, y: x * y),
    "divide": (lambda x, y: x / y, lambda x, y: x / y),
    "minimum": (np.minimum, lambda x, y: x.min(y)),
}

trees = st.recursive(
    st.just("x"),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(OF_ONE)), inner), st.tuples(st.sampled_from(sorted(OF_TWO)), inner, inner)
    ),
    max_leaves=5,
)


def value(tree, x, exactly):
    if isinstance(tree, str):
        return x
    name, *parts = tree
    return (OF_ONE if len(parts) == 1 else OF_TWO)[name][exactly](*(value(part, x, exactly) for part in parts))


@given(trees, st.integers(0, 2**32), st.sampled_from([0.0, 1e-14, 1e-6, 0.5]), st.sampled_from([1e-3, 1.0, 5.0]))
def test_no_exact_value_is_missed(tree, seed, width, scale):
    flint.ctx.prec = 2 * BITS
    rng = np.random.default_rng(seed)
    low = scale * rng.normal(size=20)
    high = low + width * rng.uniform(size=20)
    chosen = members(rng, low, high).tolist()
    result = value(tree, IntervalArray(low, high), False)
    tally = compare([value(tree, arb(x), True) for x in chosen], result.low, result.high, chosen)
    assert not tally.misses, tally.misses[0]
