import numpy as np
import pytest

import anyformer as af
from anyformer.errors import NetworkError
from anyformer.networks import evaluate
from anyformer.runtime import run, skipping
from tests.random_networks import random_network


def test_random_networks_run_as_they_are_defined():
    for seed, positions in ((0, False), (1, True)):
        network = random_network(seed, tokens=5, width=3, positions=positions)
        x = np.random.default_rng(seed).normal(size=(11, 5, 3))
        # Both add the same few products in possibly different orders.
        np.testing.assert_allclose(run(network, x), evaluate(network, x), rtol=1e-12, atol=1e-12)


def test_built_networks_give_the_same_bits_with_and_without_skipping(small_models):
    for model in small_models:
        shape = (400, model.network.tokens, model.network.width)
        x = np.random.default_rng(1).random(shape)
        assert np.array_equal(model(x), evaluate(model.network, x))


def test_results_do_not_depend_on_the_batch(small_models, monkeypatch):
    model = small_models[0]
    x = np.random.default_rng(2).random((37, model.network.tokens, model.network.width))
    whole = model(x)
    monkeypatch.setattr(skipping, "BATCH", 5)
    assert np.array_equal(model(x), whole)
    assert np.array_equal(model(x[3]), whole[3])


def test_an_empty_batch_is_an_empty_answer(small_models):
    network = small_models[0].network
    assert run(network, np.zeros((0, network.tokens, network.width))).shape == (0, network.tokens, network.width)


def test_bad_sequences_are_refused(small_models):
    network = small_models[0].network
    with pytest.raises(NetworkError, match=r"must have shape \(batch, tokens, width\)"):
        run(network, np.zeros((2, 7, 1)))
    with pytest.raises(NetworkError, match="finite; batch element 1"):
        run(network, np.stack([np.zeros((2, 1)), np.full((2, 1), np.inf)]))


def test_hard_networks_are_sent_to_the_reference(small_models):
    model = small_models[0]
    assert model.construction is not None
    with pytest.raises(NetworkError, match=r"networks\.evaluate"):
        run(model.construction.hard_network, np.zeros((1, 2, 1)))
    assert af.evaluate(model.construction.hard_network, np.zeros((1, 2, 1))).shape == (1, 2, 1)
