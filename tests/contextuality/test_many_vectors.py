"""Beyond the exhaustive limit: the index's recall is true, and the closest pair is exact all the same."""

import numpy as np
import pytest

from anyformer.contextuality import Contextuality, indexing, measure_layer, places_of
from anyformer.contextuality.band import closest_in_band
from anyformer.contextuality.closest import Neighbours
from anyformer.contextuality.nearest import nearest_elsewhere

faiss = pytest.importorskip("faiss")


def drawn(seed, sequences=60, tokens=13, width=20, kinds=40):
    rng = np.random.default_rng(seed)
    places = places_of([rng.integers(0, kinds, tokens) for _ in range(sequences)])
    centres = rng.normal(size=(kinds, width)) * 0.7
    return places, (centres[places.tokens] + rng.normal(size=(len(places), width))).astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_the_closest_pair_is_exact_although_an_index_is_asked(seed, monkeypatch):
    monkeypatch.setattr(indexing, "PROBES", 1)
    places, vectors = drawn(seed)
    exact = measure_layer(vectors, places)
    asked = measure_layer(vectors, places, exhaustive=779, seed=seed)
    assert exact.any_tokens.recall is None
    assert asked.any_tokens.recall < 1
    assert asked.any_tokens.is_exact
    assert asked.any_tokens.pairs[0] == exact.any_tokens.pairs[0]
    assert asked.same_token == exact.same_token
    assert asked.within == exact.within
    assert asked.verdict is Contextuality.CONTEXTUAL


def test_the_recall_is_that_of_all_places(monkeypatch):
    monkeypatch.setattr(indexing, "PROBES", 1)
    monkeypatch.setattr(indexing, "SAMPLE", 10**6)  # all
    places, vectors = drawn(7)
    found, recall = indexing.nearest_by_index(vectors, places.sequences, Neighbours.none(len(places)), seed=0)
    exact = nearest_elsewhere(vectors, places.sequences)
    assert 0.05 < recall < 0.95
    assert recall == pytest.approx((found.distances <= exact.distances).mean(), abs=0)
    assert (found.distances >= exact.distances).all()


def test_too_many_pairs_leave_the_closest_open_but_not_the_verdict():
    places, vectors = drawn(1)
    asked = measure_layer(vectors, places, exhaustive=100, margin=1e-6)
    assert not asked.any_tokens.is_exact
    assert asked.any_tokens.margin_is_exact
    assert asked.verdict is Contextuality.CONTEXTUAL


def test_far_too_many_pairs_leave_the_verdict_open():
    places, vectors = drawn(1)
    asked = measure_layer(vectors, places, exhaustive=3, margin=1e-6)
    assert not asked.any_tokens.margin_is_exact
    assert asked.verdict is Contextuality.UNDECIDED


def test_a_pair_within_the_margin_is_found_in_a_band_of_the_margin():
    """The closest known pair is too far apart for a band of its own; the one that is missing is within the margin."""
    places, vectors = drawn(5)
    first, second = 7, len(places) - 2
    vectors[first] = vectors[second]
    vectors[first, 0] += np.float32(1e-4)
    near = Neighbours(np.full(len(places), 9.0), np.zeros(len(places), dtype=np.int64))
    assert closest_in_band(vectors, places.sequences, near, most=5000) is None
    found = closest_in_band(vectors, places.sequences, near, most=5000, radius=1e-3)
    assert found.partners[first] == second
    assert found.distances[first] < 1e-3


def test_a_pair_that_the_index_missed_is_found_in_the_band():
    """Two vectors of different tokens are moved together; the neighbours known so far are those of the same token."""
    places, vectors = drawn(3)
    first, second = 5, len(places) - 4
    vectors[first] = vectors[second] + np.float32(1e-3)
    known = nearest_elsewhere(vectors, places.sequences)
    partners = np.where(np.isin(np.arange(len(places)), (first, second)), -1, known.partners)
    near = Neighbours(np.where(partners < 0, np.inf, known.distances), partners)
    found = closest_in_band(vectors, places.sequences, near, most=10**9)
    assert found.partners[first] == second
    assert found.partners[second] == first
    assert found.distances.min() == pytest.approx(1e-3 * np.sqrt(20), rel=1e-3)


def test_a_pair_within_a_sequence_is_no_pair_of_two_contexts():
    places, vectors = drawn(4)
    vectors[0] = vectors[1]
    layer = measure_layer(vectors, places, exhaustive=700)
    assert layer.within.distance == 0
    assert layer.any_tokens.distance > 0
    assert layer.verdict is Contextuality.NOT_CONTEXTUAL
