"""The designer against a plain search over all its candidates, and against all patterns of few tokens."""

import itertools
import json

import numpy as np
import pytest

from anyformer.patterns import (
    Causal,
    Full,
    Longformer,
    PatternError,
    SlidingWindow,
    capacity,
    check_pattern,
    check_universality,
    design,
    draw_design,
    from_matrix,
    in_short,
    read_pattern,
)
from anyformer.patterns.designing import candidates as grid
from anyformer.patterns.designing import designer
from anyformer.patterns.tiling.compiler import tiling_of
from anyformer.patterns.universality.reach import hops_within, smallest_hops
from tests.patterns import naive
from tests.patterns.samples import random_pattern, random_tree


def cost(pattern):
    layers = [sum(tiling_of(one).executed for one in layer) / len(layer) for layer in pattern.layers]
    return sum(layers) / len(layers)


def searched(tokens, layers, causal):
    """(cost, capacity) of every candidate that mixes all tokens in time, by the naive program."""
    found = []
    for family in grid.candidates(tokens, causal):
        pattern = family.at(tokens)
        sets = naive.layers_of(pattern)
        hops = naive.smallest_causal_s(sets) if causal else naive.smallest_s(sets)
        if hops is not None and hops <= layers:
            found.append((cost(pattern), capacity(pattern, layers).value))
    return found


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("tokens", "layers"), [(2, 1), (5, 2), (13, 2), *(pytest.param(n, 3, marks=pytest.mark.slow) for n in (9, 37, 64))]
)
def test_the_cheapest_of_all_candidates(tokens, layers, causal):
    every = searched(tokens, layers, causal)
    for wanted in sorted({0, 1, tokens // 4, tokens // 3, tokens // 2}):
        found = design(tokens, layers, wanted, causal)
        assert found.best.executed == min(price for price, carried in every if carried >= wanted)
        assert found.best.carried >= wanted
        # Nothing that fits was left out before the last option.
        last = found.options[-1].executed
        expected = {price for price, carried in every if price < last and carried >= wanted}
        assert {option.executed for option in found.fitting if option.executed < last} == expected


@pytest.mark.parametrize("causal", [False, True])
def test_what_options_say_is_so(causal):
    found = design(14, 3, 6, causal)
    costs = [option.executed for option in found.options]
    assert costs == sorted(costs)
    for option in found.options:
        pattern, sets = option.family.at(14), naive.layers_of(option.family.at(14))
        assert option.hops == (naive.smallest_causal_s(sets) if causal else naive.smallest_s(sets)) <= 3
        assert option.connections == np.mean([one.connections for one in pattern.lists()])
        assert option.executed == cost(pattern) >= option.connections
        assert option.capacity == capacity(pattern, 3)
        report = check_universality(pattern, seconds=1.0)
        assert report.is_causally_universal if causal else report.is_universal
    carried = [option.carried for option in found.front]
    assert carried == sorted(set(carried))
    assert carried[-1] == 7


def test_no_pattern_of_four_tokens_is_cheaper_than_what_all_patterns_allow():
    """Over all 4,096 lists with self-loops: what the designer finds is never below the best, and often as good."""
    places = [(k, j) for k in range(4) for j in range(4) if k != j]
    facts = []
    for bits in itertools.product([False, True], repeat=len(places)):
        if sum(bits) < 4:
            continue  # fewer arcs do not connect four tokens both ways
        sees = [{k} for k in range(4)]
        for (k, j), bit in zip(places, bits, strict=True):
            if bit:
                sees[k].add(j)
        hops = naive.smallest_s([sees])
        if hops is not None:
            facts.append((4 + sum(bits), hops, sees))
    as_good = 0
    for layers, wanted in itertools.product((1, 2, 3), (1, 2)):
        fitting = sorted((count for count, hops, _ in facts if hops <= layers))
        least = next(
            count
            for count in fitting
            if any(
                capacity(pattern_of(sees), layers).value >= wanted
                for links, hops, sees in facts
                if links == count and hops <= layers
            )
        )
        best = design(4, layers, wanted).best
        if best.family.at(4).period == 1:  # layers that differ may do with less
            assert best.connections >= least
        as_good += best.connections <= least
    assert as_good >= 2


def pattern_of(sees):
    return from_matrix(np.array([[j in keys for j in range(len(sees))] for keys in sees]))


def test_more_is_never_cheaper():
    by_capacity = [design(18, 2, wanted).best.executed for wanted in (0, 4, 9)]
    assert by_capacity == sorted(by_capacity)
    by_depth = [design(18, layers, 7).best.executed for layers in (1, 2, 4)]
    assert by_depth == sorted(by_depth, reverse=True)
    assert by_capacity[0] < by_capacity[-1]
    assert by_depth[-1] < by_depth[0] == 32 * 18  # full attention, in one tile of 32 queries


def test_only_candidates_are_chosen(monkeypatch):
    monkeypatch.setattr(designer, "candidates", lambda tokens, causal: [SlidingWindow(1), Longformer(2, 3)])
    found = design(30, 2, 5)
    assert (found.best.family, found.too_slow) == (Longformer(2, 3), 1)
    monkeypatch.setattr(designer, "candidates", lambda tokens, causal: [SlidingWindow(1)])
    monkeypatch.setattr(designer, "LONGEST_FULL", 10)
    assert design(30, 2, 15).best.family == Full()
    assert design(30, 2, 15, causal=True).best.family == Causal(Full())


def test_a_capacity_that_was_not_computed_counts_as_none(monkeypatch):
    monkeypatch.setattr("anyformer.patterns.bottlenecks.capacity.MOST_CONNECTIONS", 100)
    monkeypatch.setattr(designer, "MOST_CONNECTIONS", 100)
    monkeypatch.setattr(designer, "candidates", lambda tokens, causal: [Longformer(1, 1), Full()])
    found = design(16, 5, 0)
    assert [option.capacity.layers for option in found.options] == [1, 1]
    assert found.options[0].capacity.value == capacity(Longformer(1, 1), 1, 16).value
    assert found.options[1].capacity.value is None
    assert found.options[1].carried == 0


@pytest.mark.parametrize("tokens", [1, 2, 7, 100])
def test_candidates_are_patterns_that_can_be_read_again(tokens):
    every = grid.candidates(tokens)
    assert all(isinstance(family, Causal) for family in grid.candidates(tokens, causal=True))
    for family in every:
        assert read_pattern(in_short(family)) == family
        assert all(one.loops().all() for one in family.at(tokens).lists())


@pytest.mark.slow
def test_candidates_pass_the_battery():
    for family in grid.candidates(12):
        check_pattern(family)


def test_s_within_a_bound():
    rng = np.random.default_rng(0)
    for _ in range(100):
        pattern = random_tree(rng, 9) if rng.random() < 0.5 else random_pattern(rng, 9, 2)
        hops = naive.smallest_s(naive.layers_of(pattern))
        for most in (1, 2, 3, 8, 20):
            expected = hops if hops is not None and hops <= most else None
            assert hops_within(pattern.seen, most) == expected
        if hops is not None:
            assert smallest_hops(pattern.seen) == hops


def test_a_design_as_json_and_as_a_picture(tmp_path):
    found = design(24, 2, 8)
    data = json.loads(json.dumps(found.to_json()))
    assert data["best"] == in_short(found.best.family)
    fits = [option["pattern"] for option in data["options"] if option["fits"]]
    assert fits == [in_short(option.family) for option in found.fitting]
    assert draw_design(found, tmp_path / "design.svg").read_text().startswith("<?xml")
    with pytest.raises(PatternError, match="must end in one of"):
        draw_design(found, tmp_path / "design.gif")


def test_the_picture_has_a_mark_for_every_option():
    from anyformer.patterns.designing.picture import picture

    found = design(24, 3, 8)
    (panel,) = picture(found).axes
    marks = [line for line in panel.lines if line.get_label().startswith("s = ")]
    shown = {(x, y) for line in marks for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)}
    assert shown == {(option.executed / 24, option.carried) for option in found.options}
    assert [line.get_label() for line in marks] == [f"s = {hops}" for hops in sorted({o.hops for o in found.options})]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"tokens": 9, "capacity": 5}, "the capacity must be at most 4, as many as half of 9 tokens send; got 5"),
        ({"tokens": 9, "capacity": -1}, "capacity must be at least 0; got -1"),
        ({"tokens": 9, "layers": 0}, "layers must be at least 1; got 0"),
        ({"tokens": 0}, "tokens must be at least 1; got 0"),
    ],
)
def test_wrong_questions(asked, message):
    with pytest.raises(PatternError, match=message):
        design(**asked)
