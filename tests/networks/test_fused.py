"""a·b + c with one rounding, against exact fractions: the definition of correct rounding."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.networks.fused import fused

floats = st.floats(allow_nan=False, allow_infinity=False)


def exactly(a: float, b: float, c: float) -> float:
    value = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1)


@given(floats, floats, floats)
def test_any_three_floats_are_rounded_once(a, b, c):
    assert float(fused(a, b, c)) == exactly(a, b, c)


@given(st.integers(1, 2**53), st.integers(1, 2**53), st.integers(-60, 60), st.integers(-3, 3))
def test_sums_that_nearly_cancel_are_rounded_once(a, b, shift, ulps):
    c = -float(a) * float(b)
    c = math.ldexp(c + ulps * math.ulp(c), shift if ulps == 0 else 0)
    assert float(fused(float(a), float(b), c)) == exactly(float(a), float(b), c)


def test_arrays_of_every_kind_at_once():
    rng = np.random.default_rng(0)
    mantissas = rng.integers(-(2**53), 2**53, (3, 40, 500)).astype(np.float64)
    a, b, c = np.ldexp(mantissas, rng.integers(-700, 500, mantissas.shape))
    a[:5], b[5:10], c[10:15] = 0.0, 2.0**-30, 0.0
    ours = fused(a, b, c)
    wanted = [
        exactly(*triple) for triple in zip(a.ravel().tolist(), b.ravel().tolist(), c.ravel().tolist(), strict=True)
    ]
    assert np.array_equal(ours.ravel(), np.array(wanted))


def test_shapes_are_broadcast():
    a, b, c = np.full((7, 1, 3), 1 / 3), np.full((5, 1), 3.0), np.full(3, -1.0)
    assert fused(a, b, c).tolist() == np.full((7, 5, 3), exactly(1 / 3, 3.0, -1.0)).tolist()
    # Rounding the product first would lose everything here.
    assert float(fused(1 / 3, 3.0, -1.0)) == -(2.0**-54)


@pytest.mark.parametrize(
    ("triple", "wanted"),
    [((np.inf, 2.0, 1.0), np.inf), ((1e300, 1e300, -np.inf), -np.inf), ((1e300, -1e300, 1e308), -np.inf)],
)
def test_infinities_are_kept(triple, wanted):
    assert float(fused(*triple)) == wanted
