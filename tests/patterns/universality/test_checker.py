"""Single answers of the checker that the random comparison does not pin down."""

import itertools
import json

import numpy as np
import pytest

from anyformer.patterns import (
    Answer,
    DilatedWindow,
    Full,
    Multihead,
    PatternError,
    PlainStar,
    Random,
    Ring,
    Sequential,
    SlidingWindow,
    Strided,
    check_universality,
    from_edges,
    from_matrix,
)
from anyformer.patterns.universality import checker, cycle_patching, reach, solver
from anyformer.patterns.universality.witnesses import Infeasible, Narrow
from tests.patterns import naive
from tests.patterns.samples import random_pattern, random_tree
from tests.patterns.universality.witnessing import check_witnesses


def matrix(tokens, pairs, loops=True):
    dense = np.eye(tokens, dtype=bool) if loops else np.zeros((tokens, tokens), dtype=bool)
    for query, key in pairs:
        dense[query, key] = True
    return dense


def both_ways(pairs):
    return [*pairs, *((key, query) for query, key in pairs)]


def test_a_missing_self_loop_is_named_and_does_not_matter_to_averaging():
    dense = matrix(5, both_ways([(i, i + 1) for i in range(4)]))
    dense[3, 3] = False
    report = check_universality(from_matrix(dense))
    assert report.verdict.name == "AVERAGING"
    assert [str(loop) for loop in report.self_loops.missing] == ["token 3 does not see itself in layer 0, list 0"]


def test_a_token_that_sees_nobody_in_some_layer_is_not_covered():
    ring, blind = matrix(4, [(k, (k + 1) % 4) for k in range(4)]), matrix(4, [])
    blind[2, 2] = False
    report = check_universality(from_matrix(np.stack([ring, blind])[:, None]))
    assert report.verdict.name == "NOT_COVERED"
    assert "does not mean that it is not universal" in report.verdict.value


def test_a_self_loop_is_asked_of_every_head():
    ring, twisted = matrix(4, [(k, (k + 1) % 4) for k in range(4)]), matrix(4, [(1, 3)])
    twisted[2, 2] = False
    report = check_universality(from_matrix(np.stack([ring, twisted])[None]))
    assert [(one.layer, one.head, one.token) for one in report.self_loops.missing] == [(0, 1, 2)]
    assert report.verdict.name == "NOT_COVERED"  # it sees nobody in that list


def test_without_self_loops_the_sets_may_never_be_full_together():
    odd_and_even = from_edges(both_ways([(0, 1), (1, 2), (2, 3)]), tokens=4)
    report = check_universality(odd_and_even)
    assert report.verdict.name == "AVERAGING"
    assert report.never_meet is None
    assert "when the sets repeat already" in str(report.reach)
    check_witnesses(odd_and_even, report)
    assert check_universality(from_edges([(0, 1), (1, 2), (2, 0), (0, 2)], tokens=3)).reach.hops == 5


def test_a_star_in_one_layer_suffices_whatever_the_others_do():
    star, nothing = PlainStar().at(6).layers[0], from_matrix(np.zeros((6, 6), dtype=bool)).layers[0]
    report = check_universality(type(PlainStar().at(6))((nothing, star)))
    assert report.verdict.name == "STAR"
    assert (report.relay.layer, report.relay.token) == (1, 0)
    assert report.self_loops.answer is Answer.FAILS


def test_a_star_spread_over_two_layers_is_averaging():
    """Outwards in one layer, inwards in the other: neither layer holds a star, and there is no path."""
    out, back = matrix(6, [(k, 0) for k in range(6)]), matrix(6, [(0, k) for k in range(6)])
    report = check_universality(from_matrix(np.stack([out, back])))
    assert report.relay is None
    assert report.verdict.name == "AVERAGING"
    assert report.reach.hops == 3


def test_two_stars_joined_have_a_cut_of_two():
    leaves = [(0, k) for k in (1, 2, 3)] + [(4, k) for k in (5, 6, 7)] + [(0, 4)]
    report = check_universality(from_matrix(matrix(8, both_ways(leaves))))
    assert report.verdict.name == "AVERAGING"
    assert len(report.path.witness.tokens) <= 2


def test_tokens_that_see_too_few_are_the_witness():
    few, two, many = range(6), (6, 7), range(8, 14)
    sees = [(few, two), (two, many), (many, few), (many, many)]
    pattern = from_matrix(matrix(14, [(k, j) for queries, keys in sees for k in queries for j in keys]))
    report = check_universality(pattern)
    assert report.path.witness == Narrow(tuple(few), two)
    check_witnesses(pattern, report)
    assert "a path needs" in str(report.path)


def test_where_no_small_witness_is_found_the_solver_proves_it():
    """Four cliques that meet only in two tokens, which are not the busiest."""
    cliques = [range(start, start + 6) for start in (2, 8, 14, 20)]
    pairs = [pair for clique in cliques for pair in itertools.combinations(clique, 2)]
    pairs += [(hub, clique[hub]) for clique in cliques for hub in (0, 1)]
    report = check_universality(from_matrix(matrix(26, both_ways(pairs))))
    assert isinstance(report.path.witness, Infeasible)
    assert "OR-Tools CP-SAT proved" in str(report.path)
    assert report.verdict.name == "AVERAGING"


@pytest.fixture
def stuck(monkeypatch):
    """Patching cycles finds nothing, so that the solver is asked."""
    monkeypatch.setattr(cycle_patching, "_TRIES", 0)


def test_a_missing_solver_leaves_the_path_undecided(monkeypatch, stuck):
    monkeypatch.setitem(__import__("sys").modules, "ortools.sat.python.cp_model", None)
    report = check_universality(Random(seed=1), 12)
    assert report.path.answer is Answer.UNDECIDED
    assert 'pip install "anyformer[patterns]"' in report.path.reason
    assert report.verdict.name == "AVERAGING"
    assert check_universality(Ring(), 12).verdict.name == "PAPER_B"


def test_no_time_and_too_many_connections_are_undecided(monkeypatch, stuck):
    report = check_universality(Random(seed=1), 300, seconds=1e-6)
    assert report.path.answer is Answer.UNDECIDED
    assert "give it more seconds" in str(report.path)
    monkeypatch.setattr(solver, "MOST_ARCS", 10)
    assert "more than the 10" in check_universality(Random(seed=1), 12).path.reason


def test_beyond_what_is_followed_exactly(monkeypatch):
    monkeypatch.setattr(checker, "EXACT_TOKENS_WITHOUT_LOOPS", 8)
    circle = from_edges([(k, (k + 1) % 9) for k in range(9)], 9)
    assert check_universality(circle).reach.answer is Answer.UNDECIDED


def test_a_family_lies_about_its_path_in_vain():
    class Liar(type(Ring()).__bases__[0]):
        def at(self, tokens):
            return PlainStar().at(tokens)

        def path(self, tokens):
            return np.arange(tokens)

    assert check_universality(Liar(), 5).path.answer is Answer.FAILS


def test_combined_families_keep_a_path_and_join_what_was_apart():
    report = check_universality(Sequential((DilatedWindow(1, 3), SlidingWindow(1))), 17)
    assert report.verdict.name == "PAPER_B"
    assert report.path.found_by == "known for this family"
    assert check_universality(Multihead((DilatedWindow(1, 2), DilatedWindow(1, 3))), 17).verdict.name == "PAPER_B"


@pytest.mark.parametrize("tokens", [65, 130])
def test_s_over_several_chunks_of_sources_and_both_kinds_of_hop(tokens, monkeypatch):
    rng = np.random.default_rng(tokens)
    patterns = [random_tree(rng, tokens), Strided().at(tokens), Ring().at(tokens)]
    patterns += [Sequential((DilatedWindow(1, 5), SlidingWindow(1), Full())).at(tokens)]
    expected = [naive.smallest_s(naive.layers_of(pattern)) for pattern in patterns]
    for thin, chunk in itertools.product((0.0, 40.0, 1e9), (17 * tokens, 2**24)):
        monkeypatch.setattr(reach, "_THIN", thin)
        monkeypatch.setattr(reach, "_SOURCES_AT_ONCE", chunk)
        monkeypatch.setattr(reach, "_ROWS_AT_ONCE", 50)
        assert [reach.smallest_hops(pattern.seen) for pattern in patterns] == expected


def test_lengths_must_be_given_to_families_only():
    with pytest.raises(PatternError, match="tokens must be given with a family"):
        check_universality(Ring())
    with pytest.raises(PatternError, match="must be left out or be 5"):
        check_universality(Ring().at(5), tokens=6)
    assert check_universality(Ring().at(5), tokens=5).growth is None
    with pytest.raises(PatternError, match="seconds must be more than 0; got 0"):
        check_universality(Ring(), 5, seconds=0)


def test_the_report_is_plain_json_and_readable():
    report = check_universality(PlainStar(), 6)
    data = json.loads(json.dumps(report.to_json()))
    assert data["verdict"] == "star"
    assert data["path"]["witness"] == {
        "kind": "Cut",
        "tokens": [0],
        "pieces": 5,
        "in_words": "without {0} the rest falls into 5 pieces, and a path cut at 1 tokens leaves at most 2",
    }
    assert data["reach"]["hops"] == 2
    text = str(report)
    assert "plain-star, 6 tokens: universal: it contains a star" in text
    assert "2. path γ: fails: without {0}" in text
    assert "to meet Assumption 1: add 3 connections" in text


def test_the_same_pattern_gets_the_same_report():
    pattern = random_pattern(np.random.default_rng(5), tokens=30, period=2)
    assert check_universality(pattern) == check_universality(pattern)
