"""Patched cycles: what is found is a path, and it is found where the solver needs long."""

import itertools

import numpy as np
import pytest

from anyformer.patterns import (
    Answer,
    BlockLocal,
    Hypercube,
    PlainStar,
    Random,
    Ring,
    check_universality,
    from_matrix,
    from_pairs,
)
from anyformer.patterns.universality import cycle_patching, solver
from anyformer.patterns.universality.cycle_patching import patched_path
from anyformer.patterns.universality.paths import is_path
from tests.patterns import naive
from tests.patterns.samples import random_pattern


@pytest.fixture
def no_solver(monkeypatch):
    """OR-Tools is as good as missing."""
    monkeypatch.setitem(__import__("sys").modules, "ortools.sat.python.cp_model", None)


def assert_path(seen, order):
    """Token by token, by sets."""
    assert sorted(order.tolist()) == list(range(seen.tokens))
    sees = naive.sets(seen)
    assert all(before in sees[after] for before, after in itertools.pairwise(order.tolist()))


@pytest.mark.parametrize(("tokens", "seed"), [(1024, 0), (1024, 7), (2048, 0)])
def test_random_keys_have_a_path_without_the_solver(tokens, seed, no_solver):
    seen = Random(seed=seed).at(tokens).union
    assert_path(seen, patched_path(seen))


def test_few_keys_take_exchanges_between_several_tokens(monkeypatch):
    """Cycles of two or three tokens with 16 keys each have almost no place where two tokens could exchange theirs."""
    seen = Random(keys=16).at(8192).union
    assert_path(seen, patched_path(seen))
    monkeypatch.setattr(cycle_patching, "_LONGEST", 0)
    assert patched_path(seen) is None


@pytest.mark.parametrize("seed", range(3))
def test_three_keys_that_are_seen_three_times_are_enough(seed):
    rng, tokens = np.random.default_rng(seed), 700
    keys = np.concatenate([rng.permutation(tokens) for _ in range(3)])
    seen = from_pairs(tokens, np.tile(np.arange(tokens), 3), keys)
    assert_path(seen, patched_path(seen))


def test_the_checker_says_who_found_it(no_solver):
    report = check_universality(Random(), 1024)
    assert report.path.answer is Answer.HOLDS
    assert report.path.found_by == "found by patching cycles"
    assert report.verdict.name == "PAPER_B"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_is_a_path_and_nothing_is_found_where_there_is_none(seed):
    rng, found, none = np.random.default_rng(seed), 0, 0
    for tokens in [*range(1, 9)] * 6:
        seen = random_pattern(rng, tokens, 1, loops=bool(rng.integers(2))).union
        sees, order = naive.sets(seen), patched_path(seen)
        exists = any(
            all(before in sees[after] for before, after in itertools.pairwise(each))
            for each in itertools.permutations(range(tokens))
        )
        assert order is None or is_path(seen, order)
        assert order is None or exists
        found, none = found + (order is not None), none + (not exists)
    assert min(found, none) > 5


@pytest.mark.parametrize("family", [PlainStar(), BlockLocal(3)], ids=repr)
def test_a_pattern_without_a_path_leaves_it_stuck(family):
    assert patched_path(family.at(12).union) is None


def test_one_token_is_a_path():
    assert patched_path(Ring().at(1).union).tolist() == [0]
    assert patched_path(from_matrix(np.zeros((1, 1), dtype=bool)).union).tolist() == [0]


def test_where_it_is_stuck_the_solver_goes_on(monkeypatch):
    monkeypatch.setattr(cycle_patching, "_TRIES", 0)
    assert check_universality(Random(seed=1), 12).path.found_by == f"found by {solver.NAME}"


def test_the_same_pattern_gets_the_same_path():
    seen = Hypercube().at(37).union
    one, two = patched_path(seen), patched_path(seen)
    np.testing.assert_array_equal(one, two)
