from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure
from anyformer.certificates.propagation.feed_forward import enclose_feed_forward
from anyformer.networks import FeedForwardStage
from anyformer.networks.evaluate import apply_stage
from tests.certificates.propagation.exact import exact_feed_forward
from tests.random_networks import feed_forward_stage

BOTH = Arithmetic.FLOAT64_AND_REAL


def one_coordinate_stage(rng: np.random.Generator, layers: int, width: int) -> FeedForwardStage:
    """Layers that read one coordinate with weights that are powers of two, as the constructions do; dyadic numbers."""
    stage = feed_forward_stage(rng, layers, 4, width)
    W_1 = np.zeros_like(stage.W_1)
    read = rng.integers(0, width, layers)
    W_1[np.arange(layers), :, read] = rng.choice([-2.0, -1.0, 1.0, 0.5], size=(layers, 4))
    dyadic = [np.round(a * 16) / 16 for a in (stage.b_1, stage.W_2, stage.b_2)]
    return FeedForwardStage("one coordinate", W_1, *dyadic)


def check_members(stage: FeedForwardStage, boxes: Enclosure, rng: np.random.Generator, fractions: int) -> None:
    """Float64 values of members lie between the ends; exact values of members lie within the slack of them."""
    out = enclose_feed_forward(stage, boxes, BOTH)
    for _ in range(20):
        inner = np.clip(boxes.low + rng.random(boxes.low.shape) * (boxes.high - boxes.low), boxes.low, boxes.high)
        value = apply_stage(stage, inner[:, None, :])[:, 0, :]
        assert (out.low <= value).all()
        assert (value <= out.high).all()
    for row in range(fractions):
        exact = [Fraction(float(v)) for v in inner[row]]
        for layer in range(len(stage)):
            exact = exact_feed_forward(stage[layer], exact)
        for i, truth in enumerate(exact):
            slack = Fraction(float(out.slack[row, i]))
            assert Fraction(float(out.low[row, i])) - slack <= truth <= Fraction(float(out.high[row, i])) + slack


@given(st.integers(0, 10**6))
def test_random_layers_are_enclosed(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 4))
    stage = (one_coordinate_stage if seed % 2 else lambda *a: feed_forward_stage(*a[:2], 4, a[2]))(rng, 3, width)
    low = rng.normal(size=(7, width))
    wide = rng.choice([0.0, 1e-9, 0.3, 4.0], size=(7, width))
    check_members(stage, Enclosure.box(low, low + wide), rng, fractions=3)


def quantiser(delta: float, ramp: float, level: float) -> FeedForwardStage:
    """−t on [0, δ − ramp), back to 0 on the ramp."""
    steep = delta / ramp
    W_1, b_1 = np.zeros((1, 4, 1)), np.zeros((1, 4))
    W_1[0, :3, 0] = 1.0
    b_1[0, :3] = [-level, -level - delta + ramp, -level - delta]
    return FeedForwardStage("quantise", W_1, b_1, np.array([[[-1.0, steep, 1 - steep, 0.0]]]), np.zeros((1, 1)))


def test_a_cell_collapses_to_one_float():
    delta, ramp = 2.0**-4, 2.0**-30
    for k in range(16):
        low, high = np.array([[k * delta]]), np.array([[(k + 1) * delta - ramp]])
        out = enclose_feed_forward(quantiser(delta, ramp, k * delta), Enclosure.box(low, high), BOTH)
        assert out.low.item() == out.high.item() == k * delta
        assert out.slack.item() == 0.0


def test_a_cell_that_reaches_into_the_ramp_does_not_collapse():
    delta, ramp = 2.0**-4, 2.0**-30
    low, high = np.array([[3 * delta]]), np.array([[4 * delta - ramp / 2]])
    out = enclose_feed_forward(quantiser(delta, ramp, 3 * delta), Enclosure.box(low, high), BOTH)
    assert out.low.item() <= 3 * delta < out.high.item()


def test_unbounded_inputs_are_clamped():
    clamp = FeedForwardStage(
        "clamp",
        np.array([[[1.0], [-1.0], [0.0], [0.0]]]),
        np.array([[-1.0, -1.0, 0, 0]]),
        np.array([[[-1.0, 1.0, 0, 0]]]),
        np.zeros((1, 1)),
    )
    everything = Enclosure.box(np.array([[-np.inf]]), np.array([[np.inf]]))
    out = enclose_feed_forward(clamp, everything, Arithmetic.REAL)
    assert (out.low.item(), out.high.item()) == (-1.0, 1.0)
    half = Enclosure.box(np.array([[0.25]]), np.array([[np.inf]]))
    out = enclose_feed_forward(clamp, half, Arithmetic.REAL)
    assert (out.low.item(), out.high.item()) == (0.25, 1.0)
    growing = FeedForwardStage("grow", clamp.W_1, clamp.b_1, clamp.W_2 * 0.5, clamp.b_2)
    out = enclose_feed_forward(growing, half, Arithmetic.REAL)
    assert (out.low.item(), out.high.item()) == (0.25, np.inf)
