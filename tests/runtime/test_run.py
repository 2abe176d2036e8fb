"""Every way of running a network gives the bits of its definition."""

import os
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyformer as af
from anyformer.errors import NetworkError
from anyformer.networks import BlockShape, Entmax, FeedForwardStage, Network, Softmax, Sparsemax, evaluate
from anyformer.runtime import Engine, Layers, run
from tests.random_networks import attention_stage, feed_forward_stage, random_network

WAYS = [(layers, engine) for layers in Layers for engine in Engine]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.array_equal(a.view(np.int64), b.view(np.int64))


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    tokens=st.sampled_from([1, 2, 3, 5, 9]),
    width=st.sampled_from([1, 2, 3, 4, 7]),
    batch=st.sampled_from([0, 1, 2, 17, 61]),
    threads=st.sampled_from([1, 2, 3]),
)
def test_random_networks_run_as_they_are_defined_to_the_bit(seed, tokens, width, batch, threads):
    network = random_network(seed, tokens=tokens, width=width, positions=bool(seed % 2))
    x = np.random.default_rng(seed).normal(size=(batch, tokens, width))
    meaning = evaluate(network, x)
    for layers, engine in WAYS:
        assert same_bits(run(network, x, layers, engine, threads), meaning), (layers, engine)


@pytest.mark.parametrize("hidden", [4, 5, 6, 8, 10])
def test_any_hidden_size(hidden):
    rng = np.random.default_rng(hidden)
    stages = (feed_forward_stage(rng, 7, hidden, 3), attention_stage(rng, 1, 3), feed_forward_stage(rng, 2, hidden, 3))
    network = Network(5, 3, BlockShape(2, 1, hidden), stages)
    x = rng.normal(size=(13, 5, 3))
    for layers, engine in WAYS:
        assert same_bits(run(network, x, layers, engine), evaluate(network, x))


@pytest.mark.parametrize("rho", [Softmax(), Sparsemax(), Entmax(1.5)])
def test_many_keys(rho):
    """From eight numbers on, NumPy's sum depends on how they lie in memory, which differs between ways."""
    stage = replace(attention_stage(np.random.default_rng(0), 2, 3), probability_map=rho)
    network = Network(13, 3, BlockShape(), (stage,))
    x = np.random.default_rng(1).normal(size=(40, 13, 3))
    for layers, engine in WAYS:
        assert same_bits(run(network, x, layers, engine), evaluate(network, x))


def test_built_networks_give_the_same_bits_in_every_way(small_models, averaged_models):
    for model in [*small_models[:3], *averaged_models[:3]]:
        shape = (150, model.network.tokens, model.network.width)
        x = np.random.default_rng(1).random(shape) * 1.2 - 0.1
        meaning = evaluate(model.network, x)
        for layers, engine in (
            (Layers.AWAKE, Engine.COMPILED),
            (Layers.ALL, Engine.COMPILED),
            (Layers.AWAKE, Engine.NUMPY),
        ):
            assert same_bits(run(model.network, x, layers, engine), meaning)


def deep_staircase(layers: int, width: int, seed: int) -> Network:
    """Thousands of layers of which a token meets few: thresholds out of order, one direction, real slopes."""
    rng = np.random.default_rng(seed)
    W_1, W_2 = np.zeros((layers, 4, width)), np.zeros((layers, width, 4))
    direction = rng.normal(size=width)
    thresholds = rng.normal(size=layers) * 30
    W_1[:, :2] = direction
    b_1 = np.stack([-thresholds, -thresholds - 0.01, np.zeros(layers), np.zeros(layers)], axis=1)
    lifts = rng.normal(size=(layers, width)) * 0.3
    W_2[:, :, 0], W_2[:, :, 1] = lifts * 100, -lifts * 100
    stage = FeedForwardStage("stairs", W_1, b_1, W_2, np.zeros((layers, width)))
    return Network(3, width, BlockShape(), (stage,))


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_long_runs_are_searched_without_changing_a_bit(width, seed):
    network = deep_staircase(1500, width, seed)
    x = np.random.default_rng(seed).normal(size=(40, 3, width)) * 20
    ways = [run(network, x, layers, Engine.COMPILED) for layers in Layers]
    assert same_bits(ways[0], ways[1])
    assert same_bits(ways[0], run(network, x, Layers.AWAKE, Engine.NUMPY))
    assert not np.array_equal(ways[0], x)


@pytest.mark.slow
def test_results_do_not_depend_on_the_batch(small_models, monkeypatch):
    network = random_network(3, tokens=5, width=3)
    x = np.random.default_rng(2).normal(size=(37, 5, 3))
    for layers, engine in WAYS:
        whole = run(network, x, layers, engine)
        assert same_bits(np.concatenate([run(network, x[k : k + 1], layers, engine) for k in range(37)]), whole)
        for size in (1, 7, 64):
            monkeypatch.setattr(import_module("anyformer.runtime.run"), "BLOCK_TOKENS", 5 * size)
            monkeypatch.setattr(import_module("anyformer.runtime.run"), "LEAST_TOKENS", 1)
            assert same_bits(run(network, x, layers, engine, threads=2), whole)
        monkeypatch.undo()
    model = small_models[0]
    x = np.random.default_rng(2).random((9, model.network.tokens, model.network.width))
    assert np.array_equal(model(x[3]), model(x)[3])


def test_zeros_have_no_sign():
    W_1, W_2 = np.zeros((1, 4, 1)), np.zeros((1, 1, 4))
    network = Network(1, 1, BlockShape(), (FeedForwardStage("idle", W_1, np.zeros((1, 4)), W_2, np.zeros((1, 1))),))
    for layers, engine in WAYS:
        assert not np.signbit(run(network, [[[-0.0]]], layers, engine)).any()
    assert not np.signbit(evaluate(network, [[[-0.0]]])).any()


def test_values_beyond_float64_are_the_same_everywhere():
    rng = np.random.default_rng(4)
    stage = feed_forward_stage(rng, layers=30, hidden=4, width=2)
    loud = FeedForwardStage("loud", stage.W_1 * 1e40, stage.b_1, stage.W_2 * 1e10, stage.b_2)
    network = Network(3, 2, BlockShape(), (loud,))
    x = rng.normal(size=(11, 3, 2))
    results = [run(network, x, Layers.ALL, engine) for engine in Engine]
    assert not np.isfinite(results[0]).all()
    assert np.array_equal(results[0], results[1], equal_nan=True)


def test_an_empty_batch_is_an_empty_answer(small_models):
    network = small_models[0].network
    assert run(network, np.zeros((0, network.tokens, network.width))).shape == (0, network.tokens, network.width)


def test_bad_sequences_are_refused(small_models):
    network = small_models[0].network
    with pytest.raises(NetworkError, match=r"must have shape \(batch, tokens, width\)"):
        run(network, np.zeros((2, 7, 1)))
    with pytest.raises(NetworkError, match="finite; batch element 1"):
        run(network, np.stack([np.zeros((2, 1)), np.full((2, 1), np.inf)]))
    with pytest.raises(NetworkError, match="at least one thread"):
        run(network, np.zeros((2, network.tokens, network.width)), threads=0)


def test_hard_networks_are_sent_to_the_reference(small_models):
    model = small_models[0]
    assert model.construction is not None
    with pytest.raises(NetworkError, match=r"networks\.evaluate"):
        run(model.construction.hard_network, np.zeros((1, 2, 1)))
    assert af.evaluate(model.construction.hard_network, np.zeros((1, 2, 1))).shape == (1, 2, 1)


def test_a_forked_child_has_threads_of_its_own():
    """DataLoaders fork: a child that waited for its parent's threads would hang."""
    script = """
import os, numpy as np
from anyformer.runtime import run
from tests.random_networks import random_network
network = random_network(0, tokens=5, width=3)
x = np.random.default_rng(0).normal(size=(500, 5, 3))
wanted = run(network, x, threads=2)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(run(network, x, threads=2), wanted) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "0", done.stderr
