"""Patterns in and out: edges, matrices, graphs, masks, CSR, JSON, named arrays."""

import json

import numpy as np
import pytest

from anyformer.patterns import (
    CATALOGUE,
    Arrangement,
    BigBird,
    Causal,
    Multihead,
    PatternError,
    PatternFamily,
    Ring,
    Strided,
    Union,
    from_arrays,
    from_edges,
    from_json,
    from_mask_mod,
    from_matrix,
    from_networkx,
    from_pairs,
    multihead,
    named,
    sequential,
    single,
    to_arrays,
    to_csr,
    to_dense,
    to_edges,
    to_json,
)
from tests.patterns import naive
from tests.patterns.samples import random_pattern

SHAPES = [(1, 1, 1), (5, 1, 1), (6, 3, 2), (4, 2, 5)]


@pytest.mark.parametrize("shape", SHAPES)
def test_everything_comes_back(shape):
    pattern = random_pattern(np.random.default_rng(sum(shape)), *shape, loops=False)
    assert from_matrix(to_dense(pattern)) == pattern
    assert from_json(json.loads(json.dumps(to_json(pattern)))) == pattern
    assert from_arrays(to_arrays(pattern)) == pattern
    for layer in range(pattern.period + 1):
        for head in range(shape[2] + 1):
            seen = pattern.layers[layer % shape[1]][head % shape[2]]
            assert from_edges(to_edges(pattern, layer, head), shape[0]).layer(0) == seen
            dense = to_dense(pattern)[layer % shape[1], head % shape[2]]
            np.testing.assert_array_equal(to_csr(pattern, layer, head).toarray(), dense)


def test_heads_are_not_united_without_a_word():
    pattern = Strided(3, Arrangement.MULTIHEAD).at(9)
    window, remainders = pattern.layers[0]
    for export in (to_edges, to_csr):
        with pytest.raises(PatternError, match=r"layer 0 has 2, and head h uses list h mod 2. Give head=0"):
            export(pattern)
        with pytest.raises(PatternError, match="head must be at least 0"):
            export(pattern, head=-1)
    assert len(to_edges(pattern, head=1)) == remainders.connections != window.connections
    assert to_csr(pattern, head=2).nnz == window.connections
    assert len(to_edges(single(pattern.layer(0)))) == pattern.layer(0).connections > window.connections
    assert len(to_edges(Ring().at(4))) == 12  # one list is that of all heads


def test_layers_of_differing_heads_are_repeated_in_the_dense_form():
    ring = Ring().at(4)
    pattern = sequential([ring, multihead([ring, Strided(2, Arrangement.UNION).at(4)])])
    dense = to_dense(pattern)
    assert dense.shape == (2, 2, 4, 4)
    np.testing.assert_array_equal(dense[0, 1], dense[0, 0])


def test_a_query_is_a_row():
    pattern = from_edges([(0, 2), (2, 1)], tokens=3)
    assert naive.layers_of(pattern) == [[{2}, set(), {1}]]
    assert to_dense(pattern)[0, 0, 0, 2]
    assert naive.layers_of(from_matrix(to_dense(pattern)[0, 0])) == [[{2}, set(), {1}]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_matrix(np.ones((2, 2))), "must be Boolean"),
        (lambda: from_matrix(np.ones((2, 3), dtype=bool)), r"got shape \(2, 3\)"),
        (lambda: from_matrix(np.ones((0, 0), dtype=bool)), r"got shape \(0, 0\)"),
        (lambda: from_edges([(0, 3)], tokens=3), "keys must be tokens 0 to 2; got 3"),
        (lambda: from_edges(np.ones((2, 3)), tokens=3), "must be pairs"),
        (lambda: from_edges([(0, 1, 2), (0, 1, 2)], tokens=3), r"must be pairs .* got \(0, 1, 2\)"),
        (lambda: from_edges([0, 1], tokens=3), "must be pairs .* got 0"),
        (lambda: from_edges([(0, 1.9)], tokens=3), "one of the keys must be a whole number; got 1.9"),
        (lambda: from_edges([(0, 1.0)], tokens=3), "one of the keys must be a whole number; got 1.0"),
        (lambda: from_edges([(0, float("nan"))], tokens=3), "must be a whole number; got nan"),
        (lambda: from_edges([("0", "1")], tokens=3), "one of the queries must be a whole number; got '0'"),
        (lambda: from_edges(["01"], tokens=3), "must be a whole number; got '0'"),
        (lambda: from_edges([(True, 1)], tokens=3), "one of the queries must be a whole number; got True"),
        (lambda: from_edges([(0, 1), (None, 1)], tokens=3), "must be a whole number; got None"),
        (lambda: from_edges([(0, 2**64)], tokens=3), "must be below"),
        (lambda: from_edges(np.array([[0.5, 1.0]]), tokens=3), "queries must be whole numbers; got float64"),
        (lambda: from_edges(np.array([[True, False]]), tokens=3), "queries must be whole numbers; got bool"),
        (lambda: from_edges(np.array([["0", "1"]]), tokens=3), "queries must be whole numbers; got <U1"),
        (lambda: from_edges(np.array([[0, 2**64 - 1]], dtype=np.uint64), tokens=3), "keys must be tokens 0 to 2"),
        (lambda: from_pairs(3, [0.7], [1]), "queries must be whole numbers; got float64"),
        (lambda: from_pairs(3, [0], [1, 2]), "one key for each query; got 1 queries and 2 keys"),
        (lambda: from_edges([], tokens=0), "tokens must be at least 1"),
        (lambda: from_mask_mod(lambda b, h, q, k: q - k, 3), "must return Booleans"),
        (lambda: from_arrays({}), "without gaps"),
        (lambda: from_arrays({**to_arrays(Ring().at(3)), "layer2.head0.indptr": np.zeros(4)}), "without gaps"),
    ],
)
def test_what_is_no_pattern_is_refused(call, message):
    with pytest.raises(PatternError, match=message):
        call()


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 2), (2, 1)],
        [[0, 2], [2, 1]],
        ((q, k) for q, k in ((0, 2), (2, 1))),
        np.array([[0, 2], [2, 1]], dtype=np.uint8),
        [(np.int32(0), np.uint64(2)), (2, 1)],
        [np.array([0, 2]), np.array([2, 1])],
    ],
)
def test_whole_numbers_of_any_kind_are_edges(edges):
    assert naive.layers_of(from_edges(edges, tokens=3)) == [[{2}, set(), {1}]]


def test_graphs_of_networkx():
    networkx = pytest.importorskip("networkx")
    directed = networkx.DiGraph([("a", "b"), ("b", "c"), ("a", "a")])
    assert naive.layers_of(from_networkx(directed)) == [[{0, 1}, {2}, set()]]
    assert naive.layers_of(from_networkx(networkx.path_graph(3))) == [[{1}, {0, 2}, {1}]]
    assert from_networkx(networkx.empty_graph(2)).layer(0).connections == 0


def test_masks_in_the_manner_of_flex_attention(monkeypatch):
    from anyformer.patterns.exchange import adjacency

    document = np.array([0, 0, 1, 1, 1])
    mask = lambda b, h, q, k: (document[q] == document[k]) & (abs(q - k) <= h)  # noqa: E731
    expected = [
        [{j for j in range(5) if document[j] == document[k] and abs(j - k) <= h} for k in range(5)] for h in (0, 1)
    ]
    for at_once in (1, 10, 2**22):
        monkeypatch.setattr(adjacency, "_PAIRS_AT_ONCE", at_once)
        assert [naive.sets(one) for one in from_mask_mod(mask, 5, heads=2).layers[0]] == expected
    assert from_mask_mod(lambda b, h, q, k: np.True_, 3).layer(0).connections == 9


def test_a_mask_that_fails_on_arrays_says_so_where_there_are_no_tensors(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(PatternError, match=r"must take arrays of integers.* it raised AttributeError"):
        from_mask_mod(lambda b, h, q, k: q.nothing, 3)


@pytest.mark.parametrize("name", CATALOGUE)
def test_families_come_back_from_json(name):
    family = named(name)
    assert from_json(json.loads(json.dumps(to_json(family)))) == family


def test_nested_families_come_back_from_json():
    family = Causal(Union((Multihead((Strided(3, Arrangement.UNION), BigBird(seed=7))), Ring())))
    assert from_json(json.loads(json.dumps(to_json(family)))) == family


def test_a_family_of_ones_own_has_no_json():
    class Mine(PatternFamily):
        def at(self, tokens):
            return Ring().at(tokens)

    with pytest.raises(PatternError, match=r"got Mine. Write the pattern of one length instead"):
        to_json(Mine())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, '"kind" is one of explicit, full'),
        ({"kind": "sideways"}, '"kind" is one of explicit, full'),
        ({"kind": "ring", "width": 1}, r"must have the keys \['kind'\]; got \['kind', 'width'\]"),
        ({"kind": "sliding-window"}, r"must have the keys \['half_width', 'kind'\]; got \['kind'\]"),
        ({"kind": "sliding-window", "half_width": "2"}, "half_width must be a whole number"),
        ({"kind": "strided", "stride": 2, "arrangement": "any"}, "arrangement must be one of"),
        ({"kind": "causal", "of": 3}, "must be of a family"),
        ({"kind": "union", "parts": [{"kind": "explicit", "layers": []}]}, "at least one layer"),
        ({"kind": "explicit", "layers": [[{"indptr": [0, 1], "indices": [1]}]]}, "keys must be tokens 0 to 0"),
        ({"kind": "explicit", "layers": [[{"indptr": [0, 1]}]]}, "Fix the JSON"),
        ({"kind": "explicit", "layers": 3}, "Fix the JSON"),
        ({"kind": "explicit", "layers": [[{"indptr": [0, "1"], "indices": [0]}]]}, "list of whole numbers"),
    ],
)
def test_damaged_json_is_refused(data, message):
    with pytest.raises(PatternError, match=message):
        from_json(data)
