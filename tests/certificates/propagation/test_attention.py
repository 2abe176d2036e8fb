from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.certificates.propagation.attention import enclose_attention
from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure
from anyformer.networks import AttentionLayer
from anyformer.networks.evaluate import apply_attention
from tests.certificates.propagation.exact import precise_attention

BOTH = Arithmetic.FLOAT64_AND_REAL
LAST_DIGITS = Fraction(1, 10**390)  # what 400 digits leave of the truth itself
fractions = np.vectorize(Fraction, otypes=[object])


def selective_shift_layer(rng: np.random.Generator, width: int, sharpness: float) -> AttentionLayer:
    """Two heads that differ in their bias, values equal to keys: what the constructions use."""
    reads = np.broadcast_to(rng.choice([1.0, 2.0, 4.0], size=width), (2, 1, width))
    W_O = np.zeros((2, width, 1))
    W_O[:, 0, 0] = [8.0, -8.0]
    b_Q = -sharpness * np.sort(rng.integers(0, 32, 2) / 8 + 1 / 16)[:, None]
    return AttentionLayer(reads * sharpness, b_Q, reads, reads, W_O)


def generic_layer(rng: np.random.Generator, width: int, sharpness: float) -> AttentionLayer:
    """Two heads of size 2, all weights random."""
    inward = (2, 2, width)
    return AttentionLayer(
        rng.normal(size=inward) * sharpness,
        rng.normal(size=inward[:2]),
        rng.normal(size=inward),
        rng.normal(size=inward),
        rng.normal(size=(2, width, 2)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("make", [selective_shift_layer, generic_layer])
@given(seed=st.integers(0, 10**6))
def test_members_are_enclosed(make, seed):
    rng = np.random.default_rng(seed)
    tokens, width = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    layer = make(rng, width, float(rng.choice([0.5, 30.0, 2.0**18])))
    low = rng.integers(0, 8, size=(3, tokens, width)) / 8
    wide = rng.choice([0.0, 0.0, 1e-12, 0.4], size=(3, 1, 1)) * np.ones_like(low)
    box = Enclosure.box(low, low + wide)
    both, real = enclose_attention(layer, box, BOTH), enclose_attention(layer, box, Arithmetic.REAL)
    for _ in range(6):
        inner = np.clip(low + rng.random(low.shape) * wide, box.low, box.high)
        value = apply_attention(layer, inner)
        assert (both.low <= value).all()
        assert (value <= both.high).all()
    for row in range(3):
        truth = fractions(precise_attention(layer, inner[row]))
        for enclosure in (both, real):
            low, high, slack = (fractions(part[row]) for part in (enclosure.low, enclosure.high, enclosure.slack))
            assert (low - slack - LAST_DIGITS <= truth).all()
            assert (truth <= high + slack + LAST_DIGITS).all()


def test_saturated_softmax_is_known_to_be_exact():
    rng = np.random.default_rng(0)
    layer = selective_shift_layer(rng, 1, 2.0**18)
    x = np.array([[[0.125], [0.5], [0.875]]])
    out = enclose_attention(layer, Enclosure.box(x, x), BOTH)
    assert np.array_equal(out.low, out.high)
    assert np.array_equal(out.low, apply_attention(layer, x))
    # Real arithmetic loses something, and it is far below what float64 sees.
    assert (out.slack <= 1e-300).all()


def test_unsaturated_softmax_is_not_called_exact():
    layer = selective_shift_layer(np.random.default_rng(0), 1, 8.0)
    x = np.array([[[0.125], [0.5], [0.875]]])
    out = enclose_attention(layer, Enclosure.box(x, x), BOTH)
    assert (out.low < out.high).all()


def test_a_selective_shift_never_lowers_a_token_in_real_arithmetic():
    layer = selective_shift_layer(np.random.default_rng(1), 1, 2.0**18)
    low = np.array([[[1000.0], [0.0]]])
    out = enclose_attention(layer, Enclosure.box(low, low + np.array([[[0.0], [1000.0]]])), Arithmetic.REAL)
    assert out.low[0, 0, 0] > 999.999
    assert out.low[0, 1, 0] > -1e-3


def test_equal_tokens_are_hardly_moved_even_where_a_third_is_not_a_float():
    layer = selective_shift_layer(np.random.default_rng(2), 1, 2.0**18)
    x = np.full((1, 3, 1), 0.625)
    out = Enclosure.box(x, x)
    for _ in range(8):
        out = enclose_attention(layer, out, BOTH)
    assert (np.abs(out.farthest_from(x)) < 1e-11).all()
