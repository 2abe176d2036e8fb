"""The checker and a second, naive program on the same patterns: they must agree on every one."""

import itertools

import numpy as np
import pytest

from anyformer.patterns import Answer, check_universality, from_matrix
from tests.patterns import naive
from tests.patterns.samples import random_pattern, random_tree
from tests.patterns.universality.witnessing import check_witnesses

PATTERNS = 10_000


def agree(pattern):
    report = check_universality(pattern, seconds=60.0)
    layers = naive.layers_of(pattern)
    assert report.verdict.name == naive.verdict(pattern)
    assert (report.path.answer is Answer.HOLDS) == naive.has_path(layers)
    assert report.reach.hops == naive.smallest_s(layers)
    if report.causal_reach is not None:
        assert report.causal_reach.hops == naive.smallest_causal_s(layers)
    assert Answer.UNDECIDED not in (report.self_loops.answer, report.path.answer, report.reach.answer)
    check_witnesses(pattern, report)
    return report


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10))])
def test_random_patterns(part):
    rng = np.random.default_rng(part)
    verdicts = set()
    for _ in range(PATTERNS // 10):
        tokens, period, heads = rng.integers(1, 8), rng.integers(1, 4), rng.choice([1, 1, 2])
        pattern = random_pattern(rng, tokens, period, heads, loops=rng.random() < 0.6)
        verdicts.add(agree(pattern).verdict.name)
    assert verdicts >= {"PAPER_B", "STAR", "NOT_COVERED", "REFUTED"}


def test_random_trees_seen_both_ways():
    rng = np.random.default_rng(0)
    reports = [agree(random_tree(rng, tokens=rng.integers(4, 9))) for _ in range(300)]
    assert {report.verdict.name for report in reports} == {"PAPER_B", "STAR", "AVERAGING"}
    assert {type(report.path.witness).__name__ for report in reports} >= {"Cut", "NoneType"}


def digraphs(tokens):
    """Every digraph with all self-loops."""
    places = [(k, j) for k in range(tokens) for j in range(tokens) if k != j]
    for bits in itertools.product([False, True], repeat=len(places)):
        matrix = np.eye(tokens, dtype=bool)
        for (k, j), bit in zip(places, bits, strict=True):
            matrix[k, j] = bit
        yield matrix


def test_all_digraphs_with_self_loops_of_up_to_three_tokens():
    for tokens in (1, 2, 3):
        for matrix in digraphs(tokens):
            agree(from_matrix(matrix))


def test_all_pairs_of_layers_of_two_tokens_without_self_loops():
    for bits in itertools.product([False, True], repeat=8):
        agree(from_matrix(np.array(bits).reshape(2, 2, 2)))


def test_every_sixteenth_digraph_with_self_loops_of_four_tokens():
    for matrix in itertools.islice(digraphs(4), 0, None, 16):
        agree(from_matrix(matrix))
