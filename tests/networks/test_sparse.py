"""Networks with a sparsity pattern: what they mean, that all ways of running agree, and what is refused."""

import dataclasses

import numpy as np
import pytest

from anyformer.errors import NetworkError
from anyformer.networks import AttentionStage, Entmax, Network, Softmax, Sparsemax, evaluate
from anyformer.networks.digest import digest
from anyformer.patterns import (
    Butterfly,
    Full,
    Multihead,
    PlainStar,
    Random,
    Ring,
    Sequential,
    SlidingWindow,
    Strided,
    from_matrix,
    to_dense,
)
from anyformer.runtime import Engine, Layers, run
from tests.random_networks import random_network

FAMILIES = [
    SlidingWindow(1),
    PlainStar(),
    Strided(2),
    Butterfly(),
    Random(seed=3),
    Multihead((Ring(), SlidingWindow(2))),
    Sequential((Ring(), PlainStar(), Full())),
]
MAPS = [Softmax(), Sparsemax(), Entmax(1.5)]


def sparse_network(seed, family, rho=MAPS[0], tokens=5, width=3) -> Network:
    network = random_network(seed, tokens=tokens, width=width, positions=bool(seed % 2))
    stages = tuple(
        dataclasses.replace(stage, probability_map=rho) if isinstance(stage, AttentionStage) else stage
        for stage in (*network.stages, *network.stages[1:])
    )
    return dataclasses.replace(network, stages=stages, pattern=family.at(tokens))


def paper_formula(network: Network, x: np.ndarray) -> np.ndarray:
    """One sequence, query by query, looking only where the matrices say it may."""
    dense = to_dense(network.pattern)
    state = x if network.positional_encoding is None else x + network.positional_encoding
    layer = 0
    for stage in network.stages:
        for k in range(len(stage)):
            if isinstance(stage, AttentionStage):
                masks = dense[layer % len(dense)]
                new = state.copy()
                for query in range(network.tokens):
                    for h in range(network.shape.heads):
                        seen = np.flatnonzero(masks[h % len(masks)][query])
                        q = stage.W_Q[k, h] @ state[query] + stage.b_Q[k, h]
                        scores = np.array([q @ (stage.W_K[k, h] @ state[key]) for key in seen])
                        weights = stage.probability_map(scores[None])[0]
                        value = sum(w * (stage.W_V[k, h] @ state[key]) for w, key in zip(weights, seen, strict=True))
                        new[query] += stage.W_O[k, h] @ value
                state, layer = new, layer + 1
            else:
                hidden = np.maximum(state @ stage.W_1[k].T + stage.b_1[k], 0)
                state = state + hidden @ stage.W_2[k].T + stage.b_2[k]
    return state


@pytest.mark.parametrize("rho", MAPS, ids=repr)
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_attention_looks_only_where_it_may(family, rho):
    for seed in (0, 1):
        network = sparse_network(seed, family, rho)
        x = np.random.default_rng(seed).normal(size=(4, 5, 3))
        for sequence, output in zip(x, evaluate(network, x), strict=True):
            # Eleven layers of short sums; bisection in entmax and its power amplify rounding a little.
            np.testing.assert_allclose(output, paper_formula(network, sequence), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rho", MAPS, ids=repr)
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_every_way_of_running_gives_the_same_bits(family, rho):
    network = sparse_network(7, family, rho)
    x = np.random.default_rng(8).normal(size=(23, 5, 3))
    meaning = evaluate(network, x)
    for layers in Layers:
        for engine in Engine:
            assert np.array_equal(run(network, x, layers, engine), meaning)
    assert np.array_equal(run(network, x[5:6], threads=1), meaning[5:6])


def test_the_full_pattern_is_no_pattern():
    dense = random_network(2, tokens=5, width=3)
    full = dataclasses.replace(dense, pattern=Full().at(5))
    x = np.random.default_rng(0).normal(size=(6, 5, 3))
    assert np.array_equal(evaluate(full, x), evaluate(dense, x))
    assert dense.is_equivariant
    assert not full.is_equivariant


def test_an_output_does_not_depend_on_what_it_cannot_see():
    network = sparse_network(0, SlidingWindow(1), tokens=9)
    network = dataclasses.replace(network, stages=network.stages[:2])  # two attention layers: two hops
    x = np.random.default_rng(1).normal(size=(1, 9, 3))
    moved = x.copy()
    moved[0, 0] += 1.0
    changed = np.flatnonzero((evaluate(network, moved) != evaluate(network, x))[0].any(axis=1))
    assert changed.tolist() == [0, 1, 2]


def test_the_digest_knows_pattern_and_map():
    networks = [
        sparse_network(0, SlidingWindow(1)),
        sparse_network(0, SlidingWindow(2)),
        sparse_network(0, SlidingWindow(1), Sparsemax()),
        sparse_network(0, SlidingWindow(1), Entmax(1.5)),
        sparse_network(0, SlidingWindow(1), Entmax(1.6)),
    ]
    networks.append(dataclasses.replace(networks[0], pattern=None))
    assert len({digest(network) for network in networks}) == len(networks)


def test_patterns_that_do_not_fit_are_refused():
    network = random_network(0, tokens=5, width=3)
    with pytest.raises(NetworkError, match="network's 5 tokens; it has 6"):
        dataclasses.replace(network, pattern=Ring().at(6))
    blind = np.ones((5, 5), dtype=bool)
    blind[3] = False
    with pytest.raises(NetworkError, match="token 3 attends to none"):
        dataclasses.replace(network, pattern=from_matrix(blind))
