"""Causal patterns against brute force: verdict, smallest s, repairs that stay causal, and the theorem itself."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from anyformer.patterns import (
    Answer,
    BlockLocal,
    Causal,
    DilatedWindow,
    Random,
    Sequential,
    SlidingWindow,
    Strided,
    check_universality,
    from_matrix,
)
from anyformer.patterns.universality import causality
from tests.patterns import naive
from tests.patterns.universality.test_repair import check_causal_repair
from tests.patterns.universality.witnessing import check_witnesses


def check(pattern):
    report = check_universality(pattern)
    layers = naive.layers_of(pattern)
    assert report.verdict.name == naive.verdict(pattern)
    assert report.causal_reach.hops == naive.smallest_causal_s(layers)
    if report.causal_reach.answer is Answer.FAILS:
        assert report.never_meet == report.causal_reach.witness
        assert report.never_meet.input < report.never_meet.output
    check_witnesses(pattern, report)
    check_causal_repair(pattern, report)
    return report


def lower_triangles(tokens):
    places = [(k, j) for k in range(tokens) for j in range(k + 1)]
    for bits in itertools.product([False, True], repeat=len(places)):
        matrix = np.zeros((tokens, tokens), dtype=bool)
        matrix[tuple(np.transpose(places))] = bits
        yield matrix


@pytest.mark.parametrize("tokens", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_all_causal_patterns(tokens):
    verdicts = set()
    for matrix in lower_triangles(tokens):
        if np.tril(matrix, -1).any():
            verdicts.add(check(from_matrix(matrix)).verdict.name)
    assert verdicts == {"CAUSAL", "NOT_COVERED", *(["REFUTED"] if tokens > 2 else [])}


def test_random_causal_patterns_of_several_layers_and_heads():
    rng, verdicts, proved = np.random.default_rng(0), set(), 0
    for _ in range(300):
        tokens, period, heads = rng.integers(2, 9), rng.integers(1, 4), rng.integers(1, 3)
        dense = np.tril(rng.random((period, heads, tokens, tokens)) < rng.choice([0.3, 0.6, 0.9]))
        dense |= np.eye(tokens, dtype=bool) & (rng.random() < 0.5)
        if np.tril(dense, -1).any():
            report = check(from_matrix(dense))
            verdicts.add(report.verdict.name)
            proved += report.repair.proved_smallest
    assert verdicts == {"CAUSAL", "REFUTED", "NOT_COVERED"}
    assert proved > 150


def fewest_connections(pattern):
    """How few connections make a pattern causally universal, by adding all sets of causal ones to its lists."""
    dense = np.stack([[one_dense(one) for one in layer] for layer in pattern.layers])
    free = np.argwhere(~dense & np.tril(np.ones(dense.shape[-2:], dtype=bool)))
    for count in range(len(free) + 1):
        for some in itertools.combinations(free, count):
            more = dense.copy()
            if some:
                more[tuple(np.transpose(some))] = True
            if naive.verdict(from_matrix(more)) == "CAUSAL":
                return count
    raise AssertionError("the full causal pattern does not do")


def one_dense(neighbours):
    return np.array([[j in keys for j in range(neighbours.tokens)] for keys in naive.sets(neighbours)])


def test_repairs_called_smallest_are_by_trying_all():
    rng, claimed = np.random.default_rng(1), 0
    for _ in range(40):
        dense = np.tril(rng.random((2, 1, 3, 3)) < 0.5)
        if np.tril(dense, -1).any():
            pattern = from_matrix(dense)
            repair = check_universality(pattern).repair
            fewest = fewest_connections(pattern)
            assert (repair.connections == fewest) == repair.proved_smallest
            claimed += repair.proved_smallest and repair.connections > 0
    assert claimed > 10


def test_a_causal_gap_is_named_and_mended_without_looking_ahead():
    report = check_universality(Causal(BlockLocal(4)), 12)
    assert report.verdict.name == "REFUTED"
    assert str(report.causal_reach).startswith("fails: output 4 never depends on input 3")
    assert report.repair_in_words == (
        "to be causally universal: add 2 connections: token 4 looks at 3, token 8 looks at 7"
    )
    assert "causal reach: fails" in str(report)


def test_only_themselves_is_no_direction():
    report = check_universality(SlidingWindow(0), 5)
    assert report.causal_reach is None
    assert report.verdict.name == "REFUTED"
    assert check_universality(Causal(SlidingWindow(1)), 1).verdict.name == "PAPER_B"


@pytest.mark.parametrize("family", [SlidingWindow(3), Strided(), Sequential((DilatedWindow(2, 3), SlidingWindow(1)))])
def test_s_of_longer_patterns(family):
    pattern = Causal(family).at(61)
    assert check_universality(pattern).causal_reach.hops == naive.smallest_causal_s(naive.layers_of(pattern))


def test_beyond_what_is_followed_exactly(monkeypatch):
    monkeypatch.setattr(causality, "EXACT_TOKENS", 8)
    reach = check_universality(Causal(Strided()), 9).causal_reach
    assert (reach.answer, reach.hops, reach.at_most) == (Answer.HOLDS, None, 16)
    assert "worked out up to 8 tokens" in str(reach)


@pytest.mark.parametrize(
    "family", [SlidingWindow(1), SlidingWindow(2), Strided(2), Sequential((DilatedWindow(1, 2), Random(seed=3)))]
)
def test_averaging_tells_all_inputs_up_to_a_token_apart(family):
    """The theorem, in exact arithmetic: s layers of means of the codes give n·(prefixes) different numbers."""
    tokens, columns, base, gain = 4, 3, 2, 1
    pattern = Causal(family).at(tokens)
    if not check_universality(pattern).is_causally_universal:
        pattern = check_universality(pattern).repair.applied(pattern)
    hops, layers = check_universality(pattern).causal_reach.hops, naive.layers_of(pattern)
    weights = [[Fraction(k == j) for j in range(tokens)] for k in range(tokens)]
    for depth in range(hops):
        layer = layers[depth % len(layers)]
        weights = [
            [weights[k][j] + gain * sum(weights[i][j] for i in layer[k]) / len(layer[k]) for j in range(tokens)]
            for k in range(tokens)
        ]
    prefixes = [p for k in range(tokens) for p in itertools.product(range(columns), repeat=k + 1)]
    for radix in range(2, 200):
        ids = {sum(weights[len(p) - 1][j] * (digit + base) * radix**j for j, digit in enumerate(p)) for p in prefixes}
        if len(ids) == len(prefixes):
            break
    else:
        raise AssertionError("no radix below 200 keeps the ids apart")
    assert all(weights[k][j] > 0 for k in range(tokens) for j in range(k + 1))
    assert not any(weights[k][j] for k in range(tokens) for j in range(k + 1, tokens))
