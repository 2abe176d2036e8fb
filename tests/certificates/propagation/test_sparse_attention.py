"""Enclosures of attention over the keys in view, for every map: samples stay inside, saturated points stay points."""

import dataclasses

import numpy as np
import pytest

from anyformer.certificates.propagation.attention import enclose_attention
from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure
from anyformer.networks import Entmax, Softmax, Sparsemax
from anyformer.networks.evaluate import apply_attention
from anyformer.networks.layers import AttentionLayer
from anyformer.patterns import Multihead, PlainStar, Random, Ring, SlidingWindow

MAPS = [Softmax(), Sparsemax(), Entmax(1.5), Entmax(3.0)]
FAMILIES = [SlidingWindow(1), PlainStar(), Random(seed=2), Multihead((Ring(), PlainStar()))]
TOKENS, WIDTH = 6, 2


def shift_layer(rng: np.random.Generator, rho, sharpness: float) -> AttentionLayer:
    """Two heads of a selective shift, or of plain means where the sharpness is 0."""
    reads = np.broadcast_to(rng.normal(size=WIDTH), (2, 1, WIDTH))
    W_O = np.zeros((2, WIDTH, 1))
    W_O[0, 0], W_O[1, 0] = 3.0, -3.0 if sharpness else 1.0
    keys = reads if sharpness else np.zeros_like(reads)
    b_Q = sharpness * rng.normal(size=(2, 1))
    return AttentionLayer(sharpness * reads, b_Q, keys, reads, W_O, rho)


@pytest.mark.parametrize("arithmetic", [Arithmetic.FLOAT64_AND_REAL, Arithmetic.REAL], ids=lambda one: one.name)
@pytest.mark.parametrize("rho", MAPS, ids=repr)
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_samples_lie_in_the_enclosure(family, rho, arithmetic):
    rng = np.random.default_rng(0)
    for sharpness in (0.0, 0.3, 5.0, 1e3, 1e6):
        layer = shift_layer(rng, rho, sharpness)
        view = family.at(TOKENS).layers[0]
        low = rng.normal(size=(30, TOKENS, WIDTH))
        high = low + rng.choice([0.0, 1e-6, 0.3], size=(30, 1, 1))
        out = enclose_attention(layer, Enclosure.box(low, high), arithmetic, view).folded()
        for _ in range(20):
            x = low + rng.random(low.shape) * (high - low)
            value = apply_attention(layer, x, view)
            # In real arithmetic the samples are float64's, a few hundred ulps of the largest score off at most.
            doubt = 0.0 if arithmetic is Arithmetic.FLOAT64_AND_REAL else 1e-9 * (1 + sharpness)
            assert (out.low - doubt <= value).all()
            assert (value <= out.high + doubt).all()


@pytest.mark.parametrize("rho", MAPS, ids=repr)
def test_points_with_a_clear_winner_stay_points(rho):
    rng = np.random.default_rng(1)
    x = rng.permuted(np.arange(TOKENS) * 1.0, axis=0)[None, :, None] * np.ones((1, 1, 1))
    reads = np.ones((2, 1, 1))
    sharpness = 4 * rho.saturating_scale(0.5)
    W_O = np.array([[[6.0]], [[-6.0]]])
    layer = AttentionLayer(sharpness * reads, -sharpness * np.array([[2.5], [3.5]]), reads, reads, W_O, rho)
    view = SlidingWindow(1).at(TOKENS).layers[0]
    out = enclose_attention(layer, Enclosure.box(x, x), Arithmetic.FLOAT64_AND_REAL, view)
    assert np.array_equal(out.low, out.high)
    assert np.array_equal(out.low, apply_attention(layer, x, view))
    moved = np.flatnonzero(out.low[0, :, 0] != x[0, :, 0])
    assert moved.tolist() == np.flatnonzero(x[0, :, 0] == 3.0).tolist()


def test_a_wider_view_is_told_apart():
    """An enclosure made for one pattern must not hold for another: the view matters."""
    rng = np.random.default_rng(2)
    layer = dataclasses.replace(shift_layer(rng, Softmax(), 1e4))
    x = rng.normal(size=(50, TOKENS, WIDTH))
    narrow, wide = (family.at(TOKENS).layers[0] for family in (SlidingWindow(1), SlidingWindow(3)))
    out = enclose_attention(layer, Enclosure.box(x, x), Arithmetic.FLOAT64_AND_REAL, narrow).folded()
    value = apply_attention(layer, x, wide)
    assert ((value < out.low) | (value > out.high)).any()
