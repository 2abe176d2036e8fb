"""Networks with an embedding, wide ones too: every way of running them gives the bits of their definition."""

import dataclasses
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyformer.networks import (
    AttentionStage,
    BlockShape,
    Entmax,
    FeedForwardStage,
    Network,
    Softmax,
    Sparsemax,
    evaluate,
)
from anyformer.patterns import Ring, SlidingWindow
from anyformer.runtime import Engine, Layers, run
from anyformer.runtime.fixed_channels import fixed_channels
from anyformer.runtime.heads import Head
from anyformer.runtime.mixing import EveryKey, OneMixture, PickedKeys, fixed_mixing, mixed
from tests.random_networks import embedded_network, random_network

WAYS = [(layers, engine) for layers in Layers for engine in Engine]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """The same bits, but for those of a NaN, of which there are many."""
    return a.shape == b.shape and bool(((a.view(np.int64) == b.view(np.int64)) | (np.isnan(a) & np.isnan(b))).all())


def check_every_way(network: Network, x: np.ndarray, threads: int = 1) -> np.ndarray:
    with np.errstate(all="ignore"):
        meaning = evaluate(network, x)
    for layers, engine in WAYS:
        assert same_bits(run(network, x, layers, engine, threads), meaning), (layers, engine)
    return meaning


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    tokens=st.sampled_from([1, 2, 5, 19]),
    width=st.sampled_from([1, 2, 3]),
    stream=st.sampled_from([5, 9, 11, 23]),
    positions=st.booleans(),
    pattern=st.sampled_from([None, Ring(), SlidingWindow(1)]),
    batch=st.sampled_from([1, 2, 17]),
)
def test_every_way_gives_the_bits_of_the_definition(seed, tokens, width, stream, positions, pattern, batch):
    seen = None if pattern is None or tokens == 1 else pattern.at(tokens)
    network = embedded_network(seed, tokens, width, stream, positions, seen)
    x = np.random.default_rng(seed).normal(size=(batch, tokens, width))
    assert np.isfinite(check_every_way(network, x, threads=1 + seed % 2)).all()


@pytest.mark.parametrize("scale", [1e60, 1e120, 1e154, 1e250])
@pytest.mark.parametrize("stream", [5, 11])
def test_values_beyond_float64_are_the_same_everywhere(scale, stream):
    network = embedded_network(3, 4, 2, stream, scale=scale)
    x = np.random.default_rng(0).normal(size=(7, 4, 2))
    x[2:4] *= 1e-300
    x[4:] = 0.0
    meaning = check_every_way(network, x)
    assert not np.isfinite(meaning).all()


def overflowing_unit(where: float) -> Network:
    """A hidden unit that overflows for tokens above `where`: 0·∞ is NaN in all channels that it does not write."""
    W_1, W_2 = np.zeros((1, 2, 10)), np.zeros((1, 10, 2))
    W_1[0, 0, 0], W_1[0, 1, 1], W_2[0, 2, 0], W_2[0, 3, 1] = 1.7e308 / where, 1.0, 1e-300, 1.0
    stage = FeedForwardStage("loud", W_1, np.zeros((1, 2)), W_2, np.zeros((1, 10)))
    return Network(3, 10, BlockShape(1, 1, 2), (stage,))


def test_one_token_that_overflows_leaves_the_others_alone():
    x = np.zeros((70, 3, 10))
    x[:, :, 0], x[41, 1, 0] = 1.0, 9.0
    meaning = check_every_way(overflowing_unit(2.0), x)
    assert np.isnan(meaning[41, 1, [4, 9]]).all()
    assert np.isfinite(np.delete(meaning.reshape(-1, 10), 41 * 3 + 1, axis=0)).all()


def test_a_bias_near_the_end_of_float64():
    W_1, W_2 = np.eye(10)[None, :2] * 1e300, np.zeros((1, 10, 2))
    W_2[0, 5] = 1.0
    stage = FeedForwardStage("loud", W_1, np.full((1, 2), 1.7e308), W_2, np.zeros((1, 10)))
    x = np.zeros((2, 3, 10))
    x[1, :, 0] = 1e9
    meaning = check_every_way(Network(3, 10, BlockShape(1, 1, 2), (stage,)), x)
    assert np.isnan(meaning[1, 0, 9])


def one_head(**changes: np.ndarray) -> Network:
    """A uniform mean of channel 0 into channel 9."""
    inward = np.zeros((1, 1, 1, 10))
    arrays = {name: inward.copy() for name in ("W_Q", "W_K", "W_V")}
    arrays |= {"b_Q": np.zeros((1, 1, 1)), "W_O": np.zeros((1, 1, 10, 1))}
    arrays["W_V"][..., 0], arrays["W_O"][0, 0, 9] = 1.0, 1.0
    return Network(3, 10, BlockShape(1, 1, 1), (AttentionStage("mean", **(arrays | changes)),))


def test_a_key_that_overflows_is_noticed_by_a_query_of_zero():
    W_K = np.full((1, 1, 1, 10), 1e308)
    x = np.random.default_rng(0).normal(size=(5, 3, 10))
    assert np.isfinite(check_every_way(one_head(), x)).all()
    assert np.isnan(check_every_way(one_head(W_K=W_K), 10 + x)).all()


def test_a_value_that_overflows_is_noticed_where_it_has_no_weight():
    far = np.zeros((3, 10))
    far[:, 5] = [1e4, 0, -1e4]
    network = one_head(W_Q=np.eye(10)[5][None, None, None], W_K=np.eye(10)[5][None, None, None])
    W_V = np.zeros((1, 1, 1, 10))
    W_V[..., 0] = 1e308
    stage = dataclasses.replace(network.stages[0], W_V=W_V)
    W_E = np.eye(10)[:, :1]
    embedded = Network(3, 1, network.shape, (stage,), far, None, W_E, np.eye(10)[9:], np.zeros(1))
    x = np.array([[[0.5], [0.5], [0.5]], [[0.5], [90.0], [0.5]]])
    meaning = check_every_way(embedded, x)
    assert np.isfinite(meaning[0]).all()
    assert np.isnan(meaning[1]).all()


def test_scores_that_overflow_give_no_number_in_any_way():
    big = np.full((1, 1, 1, 10), 1e160)
    x = np.random.default_rng(0).normal(size=(5, 3, 10))
    assert np.isnan(check_every_way(one_head(W_Q=big, W_K=big), x)).all()
    # The same with positions alone: the weights are computed in advance, and are NaN.
    places = np.where(np.arange(10) == 5, [[1.0], [2.0], [3.0]], 0.0)
    only = np.where(np.arange(10) == 5, 1e160, 0.0)[None, None, None]
    stage = one_head(W_Q=only, W_K=only).stages[0]
    network = Network(3, 1, BlockShape(1, 1, 1), (stage,), places, None, np.eye(10)[:, :1], np.eye(10)[9:], np.zeros(1))
    assert np.isnan(check_every_way(network, x[..., :1])).all()


@pytest.mark.parametrize("rho", [Softmax(), Sparsemax(), Entmax(1.5)])
@pytest.mark.parametrize("sharpness", [0.0, 1.0, 800.0])
def test_mixing_by_one_hot_positions(rho, sharpness):
    """A fixed mixing: dense at sharpness 1, a shift by one token at 800, a mean at 0."""
    network = shift_network(tokens=13, width=2, sharpness=sharpness, rho=rho)
    x = np.random.default_rng(1).normal(size=(9, 13, 2))
    meaning = check_every_way(network, x, threads=2)
    if sharpness == 800:
        assert np.array_equal(meaning, np.roll(x, 1, axis=1))
    if sharpness == 0:
        assert np.allclose(meaning, x.mean(axis=1, keepdims=True), rtol=13 * 2**-52, atol=13 * 2**-52)


def shift_network(tokens: int, width: int, sharpness: float, rho: object = None) -> Network:
    """Every token asks for the one before it, by one-hot positions, and reads what it finds there."""
    stream = tokens + 2 * width
    W_Q, W_K, W_V = np.zeros((3, 1, 1, tokens, stream))
    W_Q[0, 0, :, 2 * width :] = sharpness * np.roll(np.eye(tokens), -1, axis=0)
    W_K[0, 0, :, 2 * width :] = np.eye(tokens)
    W_V[0, 0, :width, :width] = np.eye(width)
    W_O = np.zeros((1, 1, stream, tokens))
    W_O[0, 0, width : 2 * width, :width] = np.eye(width)
    stage = AttentionStage("shift", W_Q, np.zeros((1, 1, tokens)), W_K, W_V, W_O, rho or Softmax())
    E = np.hstack([np.zeros((tokens, 2 * width)), np.eye(tokens)])
    W_E, W_R = np.eye(stream)[:, :width], np.eye(stream)[width : 2 * width]
    return Network(tokens, width, BlockShape(1, tokens, 1), (stage,), E, None, W_E, W_R, np.zeros(width))


def test_which_channels_are_fixed():
    network = embedded_network(0, tokens=5, width=3, stream=11)
    before = [one.is_fixed.tolist() for one in fixed_channels(network)]
    free, fixed = [False] * 5, [True] * 6
    assert before[:3] == [free + fixed] * 3
    assert not any(before[3] + before[4])
    values = [one.values for one in fixed_channels(network)][1]
    assert np.array_equal(values[5:], network.positional_encoding.T[5:])
    assert not values[:5].any()
    assert not any(one.is_fixed.any() for one in fixed_channels(random_network(0, 5, 3, positions=True)))


def test_a_bias_alone_changes_a_channel():
    b_2 = np.where(np.arange(11) == 7, 1.0, 0.0)[None]
    stage = FeedForwardStage("bias", np.zeros((1, 4, 11)), np.zeros((1, 4)), np.zeros((1, 11, 4)), b_2)
    plain = embedded_network(0, tokens=5, width=3, stream=11)
    network = dataclasses.replace(plain, stages=(stage, *plain.stages))
    assert [one.is_fixed[7] for one in fixed_channels(network)] == [True, *[False] * 5]
    check_every_way(network, np.random.default_rng(0).normal(size=(3, 5, 3)))


def test_which_heads_mix_alike_in_every_sequence():
    network = embedded_network(0, tokens=5, width=3, stream=11)
    fixed = list(fixed_channels(network))[1]
    heads = [Head.of(network.stages[1][0], h, None, fixed) for h in range(4)]
    assert [head.mixing is not None for head in heads] == [True, True, False, False]
    assert [len(head.queries) for head in heads] == [3, 0, 1, 3]
    assert isinstance(heads[1].mixing, OneMixture)
    assert np.array_equal(heads[1].mixing.weights, np.full(5, 0.2))


@pytest.mark.parametrize("share", [0.03, 0.2, 0.9])
def test_fixed_mixings_in_all_three_ways(share):
    rng = np.random.default_rng(0)
    weights = np.where(rng.random((31, 31)) < share, rng.random((31, 31)), 0.0)
    weights[:, 4] = 0.5
    values = rng.normal(size=(7, 31))
    for those, kind in (
        (weights, PickedKeys if share < 0.1 else EveryKey),
        (weights[:1].repeat(31, axis=0), OneMixture),
    ):
        mixing = fixed_mixing(those)
        assert isinstance(mixing, kind)
        assert np.array_equal(mixing(values), mixed(those[None], values))


def test_results_do_not_depend_on_blocks(monkeypatch):
    network = embedded_network(5, tokens=5, width=3, stream=11)
    x = np.random.default_rng(2).normal(size=(37, 5, 3))
    whole = {way: run(network, x, *way) for way in WAYS}
    monkeypatch.setattr(import_module("anyformer.runtime.run"), "BLOCK_TOKENS", 15)
    monkeypatch.setattr(import_module("anyformer.runtime.run"), "LEAST_TOKENS", 1)
    for way in WAYS:
        assert same_bits(run(network, x, *way, threads=2), whole[way])
