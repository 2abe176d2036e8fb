"""Lists of neighbours, patterns and their combinations."""

import itertools

import numpy as np
import pytest

from anyformer.patterns import (
    BigBird,
    Causal,
    Full,
    Intersection,
    Multihead,
    Neighbours,
    PatternError,
    Random,
    Ring,
    Sequential,
    SlidingWindow,
    SparsityPattern,
    Strided,
    Union,
    causal,
    check_pattern,
    first_hops,
    from_pairs,
    intersection,
    reached,
    union,
)
from anyformer.patterns.families.hypercubes import gray_path
from tests.patterns import naive
from tests.patterns.samples import random_pattern


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 2], [0, 2], "keys must be tokens 0 to 1"),
        ([0, 1, 2], [0, -1], "keys must be tokens 0 to 1"),
        ([0, 2, 3], [1, 0, 1], r"keys of query 0 must rise, each once; got \[1, 0\]"),
        ([0, 1, 3], [1, 1, 1], r"keys of query 1 must rise, each once; got \[1, 1\]"),
        ([0, 0, 2, 2], [1, 1], r"keys of query 1 must rise"),
        ([0, 2, 1], [0, 1], "indptr must hold"),
        ([1, 2], [0, 0], "indptr must hold"),
        ([0, 1], [0, 0], "indptr must hold"),
        ([0], [], "indptr must hold"),
        ([0.0, 1.0], [0], "indptr must be one axis of integers"),
        ([0, 1], [[0]], "indices must be one axis of integers"),
    ],
)
def test_wrong_lists_are_refused(indptr, indices, message):
    with pytest.raises(PatternError, match=message):
        Neighbours(indptr, indices)


def test_lists_are_frozen_and_do_not_share_what_the_caller_may_change():
    indices = np.array([0, 1])
    neighbours = Neighbours(np.array([0, 1, 2]), indices)
    indices[0] = 1
    assert neighbours.indices.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        neighbours.indices[0] = 1
    assert indices.flags.writeable


def test_empty_rows_between_full_ones():
    neighbours = Neighbours([0, 3, 3, 5], [0, 1, 2, 0, 2])
    assert naive.sets(neighbours) == [{0, 1, 2}, set(), {0, 2}]
    assert naive.sets(neighbours.transposed()) == [{0, 2}, {0}, {0, 2}]
    assert neighbours.loops().tolist() == [True, False, True]


def test_seeing_agrees_with_the_sets():
    rng = np.random.default_rng(0)
    for _ in range(50):
        tokens = int(rng.integers(1, 20))
        neighbours = random_pattern(rng, tokens, 1, loops=False).layer(0)
        queries, keys = np.divmod(np.arange(tokens**2), tokens)
        sets = naive.sets(neighbours)
        assert neighbours.sees(queries, keys).tolist() == [k in sets[q] for q, k in zip(queries, keys, strict=True)]
        assert naive.sets(neighbours.transposed()) == [
            {q for q in range(tokens) if k in sets[q]} for k in range(tokens)
        ]
    assert not from_pairs(3, [], []).sees(np.array([0, 2]), np.array([1, 2])).any()


def test_pairs_out_of_range_are_refused():
    with pytest.raises(PatternError, match="queries must be tokens 0 to 2; got 3"):
        from_pairs(3, [3], [0])
    with pytest.raises(PatternError, match="keys must be tokens 0 to 2; got -1"):
        from_pairs(3, [0], [-1])


def test_patterns_need_lists_of_one_length():
    with pytest.raises(PatternError, match="at least one layer"):
        SparsityPattern(())
    with pytest.raises(PatternError, match=r"got lengths \[2, 3\]"):
        SparsityPattern(((from_pairs(2, [], []),), (from_pairs(3, [], []),)))


def test_equal_patterns_are_equal_and_hash_alike():
    one, two, other = Ring().at(5), Ring().at(5), SlidingWindow().at(5)
    assert one == two != other
    assert hash(one) == hash(two)
    assert one != "ring"


def test_union_and_intersection_over_differing_periods_and_heads():
    rng = np.random.default_rng(3)
    one, two = random_pattern(rng, 6, 2, heads=3), random_pattern(rng, 6, 3, heads=2)
    for combine, join in ((union, set.union), (intersection, set.intersection)):
        both = combine([one, two])
        assert both.period == 6
        assert {len(layer) for layer in both.layers} == {6}
        for layer in range(6):
            for head in range(6):
                first = naive.sets(one.layers[layer % 2][head % 3])
                second = naive.sets(two.layers[layer % 3][head % 2])
                joined = [join(a, b) for a, b in zip(first, second, strict=True)]
                assert naive.sets(both.layers[layer][head]) == joined


def test_sequences_and_heads():
    sequence = Sequential((Strided(2), Ring())).at(7)
    assert sequence.layers == Strided(2).at(7).layers + Ring().at(7).layers
    heads = Multihead((Strided(2), Ring())).at(7)
    assert [len(layer) for layer in heads.layers] == [2, 2]
    assert heads.layers[1] == Strided(2).at(7).layers[1] + Ring().at(7).layers[0]
    with pytest.raises(PatternError, match=r"same length; got 2 of lengths \[4, 5\]"):
        union([Ring().at(4), Ring().at(5)])
    with pytest.raises(PatternError, match="one or more pattern families"):
        Union(())
    with pytest.raises(PatternError, match="must be of a family"):
        Causal(Ring().at(3))


def test_causal_is_the_lower_triangle():
    pattern = Multihead((BigBird(seed=2), Strided())).at(11)
    lower = [[{j for j in keys if j <= k} for k, keys in enumerate(layer)] for layer in naive.layers_of(pattern)]
    assert naive.layers_of(causal(pattern)) == lower


@pytest.mark.parametrize(
    "family",
    [
        Union((Ring(), Random(0.2))),
        Intersection((SlidingWindow(3), Full())),
        Multihead((Strided(), Ring(), BigBird())),
        Causal(Sequential((Strided(), Random()))),
        SlidingWindow(0),
        BigBird(0, 0, 0),
    ],
    ids=repr,
)
def test_combinations_pass_the_battery(family):
    check_pattern(family)


def test_gray_paths_flip_one_bit_at_every_length():
    for tokens in range(1, 300):
        path = gray_path(tokens).tolist()
        assert sorted(path) == list(range(tokens))
        assert all((a ^ b).bit_count() == 1 for a, b in itertools.pairwise(path))


def test_hops_are_the_papers_sets():
    pattern = random_pattern(np.random.default_rng(4), 9, 3, loops=False)
    layers = naive.layers_of(pattern)
    first = first_hops(pattern, 12)
    from tests.patterns.universality.witnessing import after

    for hop, seen in zip(range(1, 13), reached(pattern), strict=False):
        assert [set(np.flatnonzero(row)) for row in seen] == after(layers, hop)
    for output in range(9):
        for source in range(9):
            when = next((hop for hop in range(1, 13) if source in after(layers, hop)[output]), 0)
            assert first[output, source] == when
