"""Similarities by their definitions, and how far vectors move, against slow programs and models that one knows."""

from itertools import combinations

import numpy as np
import pytest

from anyformer.contextuality import measure_contextual_mapping, places_of
from anyformer.contextuality.similarity import LEAST_CONTEXTS, similarity_of


def cosine(x, y):
    return x @ y / np.sqrt((x @ x) * (y @ y))


def test_similarities_are_those_of_their_definitions():
    rng = np.random.default_rng(2)
    rows = [rng.integers(0, 5, int(rng.integers(2, 9))) for _ in range(12)]
    places = places_of(rows)
    x = rng.normal(size=(len(places), 7)) + 1
    special = frozenset({0})
    kept = [k for k in range(len(places)) if places.tokens[k] != 0]
    elsewhere = [(i, j) for i, j in combinations(kept, 2) if places.sequences[i] != places.sequences[j]]
    anisotropy = np.mean([cosine(x[i], x[j]) for i, j in elsewhere])
    alike = []
    for token in range(1, 5):
        pairs = [(i, j) for i, j in elsewhere if places.tokens[i] == token == places.tokens[j]]
        contexts = {int(places.sequences[k]) for k in kept if places.tokens[k] == token}
        if len(contexts) >= LEAST_CONTEXTS:
            alike.append(np.mean([cosine(x[i], x[j]) for i, j in pairs]))
    within = []
    for sequence in range(len(rows)):
        here = [k for k in kept if places.sequences[k] == sequence]
        if here:
            within.append(np.mean([cosine(x[k], x[here].mean(axis=0)) for k in here]))
    got = similarity_of(x, places, special, seed=0)
    assert got.tokens == len(alike) >= 3
    assert got.anisotropy == pytest.approx(anisotropy, abs=1e-13)
    assert got.self_similarity == pytest.approx(np.mean(alike) - anisotropy, abs=1e-13)
    assert got.within_sequences == pytest.approx(np.mean(within) - anisotropy, abs=1e-13)


def test_one_direction_explains_bare_embeddings():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 9, 6) for _ in range(30)]
    places, table = places_of(rows), rng.normal(size=(9, 40))
    got = similarity_of(table[places.tokens], places, frozenset(), seed=0)
    others = 1 - got.explained_variance
    assert 1 / 9 < others < 0.6  # of nine random vectors
    assert got.self_similarity + got.anisotropy == pytest.approx(1, abs=1e-13)


def test_too_few_contexts_give_no_figures():
    got = similarity_of(np.eye(4), places_of([[0, 1], [0, 1]]), frozenset(), seed=0)
    assert got.self_similarity is None
    assert got.explained_variance is None


def window(ids):
    """A layer that sees two tokens on either side."""
    x = np.random.default_rng(0).normal(size=(60, 5))[ids]
    padded = np.pad(x, ((0, 0), (2, 2), (0, 0)))
    return [x, sum(padded[:, k : k + ids.shape[1]] * (k + 1) for k in range(5))]


def test_a_window_is_felt_just_as_far_as_it_reaches():
    rng = np.random.default_rng(1)
    found = measure_contextual_mapping(window, [rng.integers(0, 60, 24) for _ in range(9)], changes=(1, 2))
    one, two = found.sensitivity
    assert (one.changed, two.changed) == (1, 2)
    assert one.gaps[:5] == (1, 2, 3, 5, 9)
    assert set(one.moved[0]) == {0.0}
    assert min(one.moved[1][:2]) > 0
    assert set(one.moved[1][2:]) == {0.0}
    assert one.reached[0] == 0
    # Up to four of the 23 others, fewer at the ends.
    assert 2 / 23 <= one.reached[1] <= 4 / 23 < two.reached[1] <= 8 / 22
    assert one.smallest == (0.0, 0.0)


def test_movements_are_distances_in_units_of_the_spread():
    """Every token gets the sum of all: exchanging one moves all others equally far."""
    table = np.arange(40.0)[:, None] ** 2

    def sums(ids):
        return table[ids] + table[ids].sum(axis=1, keepdims=True)

    rows = [[1, 2, 3, 4], [5, 6, 7, 8]]
    found = measure_contextual_mapping(sums, rows, changes=(1,), margin=0.0)
    vectors = np.concatenate([sums(np.array([row]))[0] for row in rows])
    assert found.layers[0].spread == pytest.approx(vectors.std())
    assert found.sensitivity[0].reached == (1.0,)
    smallest = min(abs(a**2 - b**2) for a in range(1, 9) for b in range(1, 9) if a != b) / vectors.std()
    assert found.sensitivity[0].smallest[0] >= smallest * (1 - 1e-12)


def test_the_same_seed_gives_the_same_report():
    rng = np.random.default_rng(3)
    rows = [rng.integers(0, 60, 9) for _ in range(8)]
    assert measure_contextual_mapping(window, rows, seed=5) == measure_contextual_mapping(window, rows, seed=5)
