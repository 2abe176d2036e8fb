"""Repairs make the pattern what they promise, and those called smallest are."""

import numpy as np
import pytest

from anyformer.patterns import CATALOGUE, Answer, Causal, check_universality, from_matrix, named
from tests.patterns import naive
from tests.patterns.samples import random_pattern, random_tree


def check_repairs(pattern):
    report = check_universality(pattern)
    if report.causal_reach is not None:
        check_causal_repair(pattern, report)
        return report
    assert check_universality(report.repair.applied(pattern)).verdict.name == "PAPER_B"
    again = check_universality(report.repair_without_path.applied(pattern))
    assert again.is_universal
    assert (again.self_loops.answer, again.reach.answer) == (Answer.HOLDS, Answer.HOLDS)
    assert report.repair.loops == report.repair_without_path.loops == report.self_loops.missing
    return report


def check_causal_repair(pattern, report):
    """It stays causal, is universal among causal functions, and is the smallest where it says so."""
    assert report.repair == report.repair_without_path
    repaired = report.repair.applied(pattern)
    assert naive.is_causal([naive.sets(one) for one in repaired.lists()])
    assert check_universality(repaired).verdict.name == "CAUSAL"
    assert naive.verdict(repaired) == "CAUSAL"
    assert (report.repair.connections == 0) == (report.verdict.name == "CAUSAL")


@pytest.mark.parametrize("tokens", [5, 16, 37])
@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue(name, tokens):
    report = check_repairs(named(name).at(tokens))
    if report.verdict.name == "PAPER_B":
        assert report.repair.connections == report.repair_without_path.connections == 0
    assert report.repair.proved_smallest


def test_known_repairs():
    assert check_universality(named("causal"), 9).repair.arcs == ()
    assert check_universality(Causal(named("block-local", block=3)), 9).repair.arcs == ((3, 2), (6, 5))
    assert len(check_universality(named("plain-star"), 9).repair.arcs) == 6
    assert len(check_universality(named("block-local", block=3), 9).repair.arcs) == 3
    assert len(check_universality(named("dilated-window"), 9).repair.arcs) == 2


def test_random_patterns():
    rng = np.random.default_rng(1)
    for _ in range(150):
        check_repairs(
            random_pattern(rng, rng.integers(1, 12), rng.integers(1, 3), rng.integers(1, 3), rng.random() < 0.5)
        )


def strong(sees):
    return all(naive.learns_from(sees, k) == set(range(len(sees))) for k in range(len(sees)))


def test_smallest_is_smallest_by_trying_all():
    rng = np.random.default_rng(2)
    claimed = 0
    for trial in range(150):
        pattern = random_tree(rng, 4) if trial % 10 == 0 else random_pattern(rng, rng.integers(2, 5), 1)
        layers, report = naive.layers_of(pattern), check_repairs(pattern)
        if report.causal_reach is not None:
            continue
        assert len(report.repair_without_path.arcs) == naive.fewest_arcs(layers, strong)
        if report.repair.proved_smallest:
            claimed += 1
            fewest = naive.fewest_arcs(layers, lambda sees: strong(sees) and naive.has_path([sees]))
            assert len(report.repair.arcs) == fewest
    assert claimed > 120


@pytest.mark.parametrize("tokens", [5, 6])
def test_few_arcs_connect_many_components(tokens):
    rng = np.random.default_rng(tokens)
    for _ in range(60):
        dense = np.triu(rng.random((tokens, tokens)) < 0.3)[rng.permutation(tokens)][:, rng.permutation(tokens)]
        pattern = from_matrix(dense | np.eye(tokens, dtype=bool))
        report = check_universality(pattern)
        if report.causal_reach is not None:
            continue
        if len(report.repair_without_path.arcs) <= 3:
            assert len(report.repair_without_path.arcs) == naive.fewest_arcs(naive.layers_of(pattern), strong)
        assert check_universality(report.repair_without_path.applied(pattern)).reach.answer is Answer.HOLDS
