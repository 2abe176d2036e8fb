"""Cells followed for float32 programs: every enclosure holds what float32 computes, in any order; 24 bits, not 53."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anyformer as af
from anyformer.certificates.propagation.attention import enclose_attention
from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure, sum_of_products
from anyformer.certificates.propagation.feed_forward import enclose_feed_forward
from anyformer.certificates.propagation.propagate import propagate
from anyformer.errors import NotShown, PlanError
from anyformer.networks import BFLOAT16, FLOAT32, AttentionLayer, FeedForwardStage, cast, evaluate
from anyformer.networks.evaluate import apply_attention, apply_stage
from tests.certificates.float_programs import run_in_any_order
from tests.random_networks import attention_stage, feed_forward_stage, random_network

SINGLE = Arithmetic.FLOAT32_AND_REAL


def rounded(stage):
    from dataclasses import replace

    return replace(stage, **{name: FLOAT32.rounded(getattr(stage, name)) for name in stage.AXES})


def inside(rng: np.random.Generator, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return FLOAT32.rounded_inside(low + rng.random(low.shape) * (high - low), low, high)


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_a_sum_in_any_order_is_off_by_no_more_than_said(seed, count):
    rng = np.random.default_rng(seed)
    weights, x = (FLOAT32.rounded(np.ldexp(rng.normal(size=count), rng.integers(-20, 20, count))) for _ in range(2))
    if seed % 3 == 0:
        weights, x = rng.integers(-8, 9, count) * 1.0, rng.integers(-(2**12), 2**12, count) * 2.0**-3
    total, error = (float(v) for v in sum_of_products(weights, x, SINGLE))
    order = rng.permutation(count)
    computed = np.float32(0)
    for k in order:
        computed = computed + np.float32(weights[k]) * np.float32(x[k])
    assert abs(Fraction(float(computed)) - Fraction(total)) <= Fraction(error)
    exact = sum((Fraction(float(w)) * Fraction(float(v)) for w, v in zip(weights, x, strict=True)), Fraction(0))
    assert abs(exact - Fraction(total)) <= Fraction(error)


def test_24_bits_are_exact_and_25_are_not():
    assert float(sum_of_products(np.ones(2), np.array([2.0**23, 1.0]), SINGLE)[1]) == 0
    assert float(sum_of_products(np.ones(2), np.array([2.0**24, 1.0]), SINGLE)[1]) >= 1
    assert float(sum_of_products(np.ones(2), np.array([2.0**24, 1.0]))[1]) == 0
    # Below the smallest number of the type nothing is exact.
    assert float(sum_of_products(np.array([2.0**-80]), np.array([2.0**-80]), SINGLE)[1]) > 0


def one_coordinate_stage(rng: np.random.Generator, layers: int, width: int) -> FeedForwardStage:
    stage = feed_forward_stage(rng, layers, 4, width)
    W_1 = np.zeros_like(stage.W_1)
    W_1[np.arange(layers), :, rng.integers(0, width, layers)] = rng.choice([-2.0, -1.0, 1.0, 0.5], size=(layers, 4))
    return rounded(FeedForwardStage("one coordinate", W_1, stage.b_1, stage.W_2, stage.b_2))


@given(st.integers(0, 10**6))
def test_feed_forward_layers_hold_their_float32_members(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 4))
    stage = one_coordinate_stage(rng, 3, width) if seed % 2 else rounded(feed_forward_stage(rng, 3, 4, width))
    low = rng.normal(size=(7, width))
    high = low + rng.choice([1e-6, 0.3, 4.0], size=(7, width))
    out = enclose_feed_forward(stage, Enclosure.box(low, high), SINGLE)
    for _ in range(20):
        value = apply_stage(stage, inside(rng, low, high)[:, None, :], dtype=FLOAT32)[:, 0, :]
        assert (out.low <= value).all()
        assert (value <= out.high).all()


@given(st.integers(0, 10**6))
def test_attention_layers_hold_their_float32_members(seed):
    rng = np.random.default_rng(seed)
    width, tokens = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    layer = rounded(attention_stage(rng, 1, width))[0]
    if seed % 2:  # a tilted mean: values are the keys
        sharp = float(rng.choice([1.0, 30.0, 1000.0]))
        layer = AttentionLayer(layer.W_Q * sharp, layer.b_Q * sharp, layer.W_K, layer.W_K, layer.W_O)
        layer = AttentionLayer(*(FLOAT32.rounded(getattr(layer, name)) for name in layer.AXES))
    low = rng.normal(size=(5, tokens, width))
    high = low + rng.choice([1e-6, 0.2], size=low.shape)
    out = enclose_attention(layer, Enclosure.box(low, high), SINGLE)
    for _ in range(10):
        value = apply_attention(layer, inside(rng, low, high), dtype=FLOAT32)
        assert (out.low <= value).all()
        assert (value <= out.high).all()


def test_whole_networks_hold_their_float32_members():
    rng = np.random.default_rng(3)
    for seed in range(8):
        network = cast(random_network(seed, tokens=3, width=2, positions=seed % 2 == 0), FLOAT32)
        x = FLOAT32.rounded(rng.normal(size=(40, 3, 2)))
        out = propagate(network, Enclosure.box(x, x))
        for value in (evaluate(network, x), run_in_any_order(network, x, rng)):
            assert ((out.low <= value) & (value <= out.high)).all()


def test_float64_rules_would_not_hold_them():
    rng = np.random.default_rng(4)
    stage = rounded(feed_forward_stage(rng, 3, 4, 2))
    x = FLOAT32.rounded(rng.normal(size=(200, 2)))
    value = apply_stage(stage, x[:, None, :], dtype=FLOAT32)[:, 0, :]
    wrong = enclose_feed_forward(stage, Enclosure.box(x, x), Arithmetic.FLOAT64_AND_REAL)
    assert not ((wrong.low <= value) & (value <= wrong.high)).all()


def test_other_types_are_not_followed():
    network = cast(random_network(0, tokens=3, width=2), BFLOAT16)
    with pytest.raises(NotShown, match="cells are followed in float64 and float32 alone; the network is of bfloat16"):
        propagate(network, Enclosure.box(np.zeros((1, 3, 2)), np.ones((1, 3, 2))))


TABLES = [
    ("mean-scale", 2, 0.2, "averaging", None),
    ("mean-scale", 3, 0.2, "averaging", None),
    ("mean-scale", 2, 0.3, "selective-shift", None),
    ("sort", 3, 0.5, "sparse-averaging", "ring"),
    ("sort", 3, 0.6, "sparse-selective-shift", "sliding-window"),
]


@pytest.mark.parametrize(("name", "tokens", "tolerance", "method", "pattern"), TABLES)
def test_a_table_in_float32_has_one_value_on_a_cell(name, tokens, tolerance, method, pattern):
    target = af.targets.ready_made(name, tokens, 1)
    model = af.construct(target, tolerance, method=method, pattern=pattern, dtype="float32")
    assert model.verify().verdict is af.Verdict.PROVED
    grid = model.certificate.grid
    assert grid is not None
    rng = np.random.default_rng(0)
    cells = rng.integers(0, len(grid.columns), (60, tokens))
    boxes = grid.boxes(grid.columns[cells])
    first, *others = (inside(rng, boxes.low, boxes.high) for _ in range(4))
    value = evaluate(model.network, first)
    for x in others:
        assert np.array_equal(evaluate(model.network, x), value)
        assert np.array_equal(run_in_any_order(model.network, x, rng) + 0.0, value)


def test_tables_are_refused_with_their_bits():
    with pytest.raises(PlanError, match="ids of 29 bits, where float32 has 24 for the id and the output together"):
        af.plan("softmax", 0.02, tokens=4, method="averaging", dtype="float32")
    with pytest.raises(PlanError, match="averaging builds in float64 and float32; got float16"):
        af.plan("mean-scale", 0.2, tokens=2, method="averaging", dtype="float16")
    with pytest.raises(PlanError, match="compact support in float64 alone"):
        af.plan("bump", 0.3, tokens=2, method="averaging", dtype="float32")
    with pytest.raises(PlanError, match="a float32 network must have softmax attention"):
        af.plan("mean-scale", 0.3, tokens=2, probability_map=af.networks.Sparsemax(), dtype="float32")
