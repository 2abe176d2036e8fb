"""Agreement with a brute-force program on small cases, ties and duplicates included."""

import numpy as np
import pytest

from anyformer.contextuality import Contextuality, measure_contextual_mapping, nearest
from anyformer.targets.target import Symmetry
from tests.contextuality.brute_force import closest_pairs, kept
from tests.contextuality.brute_force import nearest_elsewhere as nearest_slowly


def case(seed):
    """Few tokens and small whole numbers: many sequences, vectors and distances are equal."""
    rng = np.random.default_rng(seed)
    tokens, width, count = int(rng.integers(2, 6)), int(rng.integers(1, 12)), int(rng.integers(3, 14))
    rows = [rng.integers(0, tokens, int(rng.integers(1, 7))).tolist() for _ in range(count)]
    rows += [rows[0], rows[1][::-1], rows[2]]
    if seed % 4 == 0:  # no context at all: a vector a token
        table = rng.integers(-2, 3, (tokens, width)).astype(float)
        return rows, lambda ids: table[ids]
    if seed % 4 == 1:  # the sum of the sequence is added: permutations stay the same
        table = rng.integers(-9, 9, (tokens, width)).astype(float)
        return rows, lambda ids: table[ids] + 3 * table[ids].sum(axis=1, keepdims=True)
    scale = 0.001 if seed % 4 == 2 else 1.0
    table, places = rng.normal(size=(tokens, width)), rng.normal(size=(9, width)) * scale

    def mixed(ids):
        x = table[ids] + places[: ids.shape[1]]
        whole = (x * np.sqrt(2 + np.arange(ids.shape[1]))[:, None]).sum(axis=1, keepdims=True)
        return (x + whole * scale).astype(np.float32 if seed % 8 == 3 else np.float64)

    return rows, mixed


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("symmetry", list(Symmetry), ids=["equivariant", "positions"])
def test_closest_pairs_are_those_of_the_definition(seed, symmetry):
    rows, model = case(seed)
    equivariant = symmetry is Symmetry.EQUIVARIANT
    report = measure_contextual_mapping(model, rows, symmetry=symmetry, margin=0.0, changes=())
    chosen = [rows[k] for k in kept(rows, equivariant)]
    vectors = [model(np.array([row]))[0] for row in chosen]
    assert report.sequences == len(chosen)
    assert report.repeated == len(rows) - len(chosen)
    layer, wanted = report.layers[0], closest_pairs(chosen, vectors, equivariant)
    for kind, found in wanted.items():
        got = getattr(layer, kind)
        if found is None:
            assert got.distance is None, kind
            continue
        # A sum of up to 12 squares in another order, and a root.
        assert got.distance == pytest.approx(found[0], rel=2.0**-48, abs=0.0), kind
        if seed % 4 < 2:  # whole numbers: distances are exact, and so are ties
            assert (got.pairs[0].first, got.pairs[0].second) == found[1], kind
    smallest = min(found[0] for found in wanted.values() if found is not None)
    expected = Contextuality.CONTEXTUAL if smallest > 0 else Contextuality.NOT_CONTEXTUAL
    assert layer.verdict is expected


def test_the_cases_have_both_verdicts_and_ties():
    verdicts = set()
    for seed in range(20):
        rows, model = case(seed)
        report = measure_contextual_mapping(model, rows, margin=0.0, changes=())
        verdicts.add(report.layers[0].verdict)
        assert report.repeated >= 2
    assert verdicts == {Contextuality.CONTEXTUAL, Contextuality.NOT_CONTEXTUAL}


def grouped(kind, seed, count=150, width=24):
    """Vectors that make inner products in float32 fail: far from 0, nearly equal, equal."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, width))
    if kind == "far away":
        x = 1e6 + x
    if kind == "nearly equal":
        x = rng.normal(size=(6, width))[rng.integers(0, 6, count)] + 1e-7 * x
    if kind == "equal":
        x = x[rng.integers(0, 9, count)]
    if kind == "one axis":
        x = np.round(x, 1)
        x[:, 1:] = 0
    return x, np.sort(rng.integers(0, count // 4, count))


@pytest.mark.parametrize("kind", ["ordinary", "far away", "nearly equal", "equal", "one axis"])
@pytest.mark.parametrize("seed", range(3))
def test_nearest_vectors_through_faiss_are_exact(kind, seed, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(nearest, "FIRST", 4)  # lists that are too short at first
    x, contexts = grouped(kind, seed)
    found = nearest.nearest_elsewhere(x, contexts)
    np.testing.assert_allclose(found.distances, nearest_slowly(x, contexts), rtol=2.0**-48, atol=0)
    assert (contexts[found.partners] != contexts).all()
    again = np.sqrt(((x - x[found.partners]) ** 2).sum(axis=1))
    np.testing.assert_allclose(found.distances, again, rtol=2.0**-48, atol=0)


@pytest.mark.parametrize("kind", ["far away", "nearly equal"])
def test_float32_alone_would_be_wrong(kind):
    """The cases above are hard: the nearest neighbour by FAISS's own distances is another one."""
    faiss = pytest.importorskip("faiss")
    x, contexts = grouped(kind, 0)
    given = x.astype(np.float32)
    squares, listed = faiss.knn(given, given, len(x))
    squares[contexts[listed] == contexts[:, None]] = np.inf
    naive = listed[np.arange(len(x)), squares.argmin(axis=1)]
    distances = np.sqrt(((x - x[naive]) ** 2).sum(axis=1))
    assert (distances > np.array(nearest_slowly(x, contexts)) * (1 + 1e-3)).any()


def test_a_bound_that_is_too_small_is_seen(monkeypatch):
    """Without the slack for float32, neighbours of nearly equal vectors come out wrong: the test above can fail."""
    pytest.importorskip("faiss")
    monkeypatch.setattr(nearest, "FIRST", 1)
    monkeypatch.setattr(nearest, "_slack", lambda lengths, width: np.zeros(len(lengths)))
    wrong = 0
    for seed in range(3):
        x, contexts = grouped("nearly equal", seed)
        found = nearest.nearest_elsewhere(x, contexts)
        wrong += (found.distances > np.array(nearest_slowly(x, contexts)) * (1 + 1e-9)).sum()
    assert wrong > 0


def test_groups_of_one_context_have_no_neighbour():
    found = nearest.nearest_elsewhere(np.zeros((5, 2)), np.zeros(5, dtype=int))
    assert np.isinf(found.distances).all()
    assert (found.partners == -1).all()
