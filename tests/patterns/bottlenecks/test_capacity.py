"""Capacity against two brute forces, its witness, and what the theorem says it bounds."""

import itertools
import json

import numpy as np
import pytest

from anyformer.patterns import (
    BigBird,
    Causal,
    Full,
    Longformer,
    PatternError,
    Sequential,
    SlidingWindow,
    Star,
    Strided,
    capacity,
    from_matrix,
    named,
)
from anyformer.patterns.bottlenecks import capacity as module
from anyformer.patterns.bottlenecks import halves
from anyformer.patterns.bottlenecks.flow import most_routes, separates, smallest_cut, unrolled
from tests.patterns import naive
from tests.patterns.bottlenecks import brute_force
from tests.patterns.samples import random_pattern


def subsets(tokens):
    return [some for size in range(1, tokens + 1) for some in itertools.combinations(range(tokens), size)]


def agree(pattern, layers, sources, targets):
    """Flow, cut and both brute forces; returns the number of routes."""
    steps = [pattern.layer(depth) for depth in range(layers)]
    network, sets = unrolled(steps), naive.layers_of(pattern)
    routes, cut = most_routes(network, sources, targets), smallest_cut(network, sources, targets)
    assert routes == brute_force.fewest_places(sets, layers, sources, targets) == len(cut)
    assert not brute_force.is_open(brute_force.steps(sets, layers), sources, targets, set(cut))
    assert separates(cut, steps, sources, targets)
    return routes


def digraphs(tokens):
    """Every digraph without self-loops, which the residual makes up for."""
    places = [(k, j) for k in range(tokens) for j in range(tokens) if k != j]
    for bits in itertools.product([False, True], repeat=len(places)):
        matrix = np.zeros((tokens, tokens), dtype=bool)
        matrix[tuple(np.transpose(places))] = bits
        yield matrix


def check_all_halves_of_three(pattern, layers):
    smallest = min(agree(pattern, layers, some, sorted({0, 1, 2} - set(some))) for some in subsets(3) if len(some) < 3)
    if not naive.is_causal(naive.layers_of(pattern)):
        assert capacity(pattern, layers).value == smallest


def test_all_patterns_of_three_tokens():
    for matrix, layers in itertools.product(digraphs(3), (1, 2)):
        check_all_halves_of_three(from_matrix(matrix), layers)


@pytest.mark.slow
def test_all_patterns_of_three_tokens_between_all_sets_of_tokens():
    for matrix in digraphs(3):
        for layers, sources, targets in itertools.product((1, 2, 3), subsets(3), subsets(3)):
            agree(from_matrix(matrix), layers, sources, targets)


@pytest.mark.slow
def test_every_fifth_pair_of_layers_of_three_tokens():
    every = list(digraphs(3))
    for one, other in itertools.islice(itertools.product(every, every), 0, None, 5):
        for layers in (2, 3):
            check_all_halves_of_three(from_matrix(np.stack([one, other])), layers)


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 8))])
def test_random_patterns_of_four_and_five_tokens(part):
    rng = np.random.default_rng(part)
    seen = set()
    for _ in range(150):
        tokens, layers = int(rng.integers(4, 6)), int(rng.integers(1, 4))
        pattern = random_pattern(rng, tokens, int(rng.integers(1, 3)), int(rng.integers(1, 3)), rng.random() < 0.5)
        sources = np.flatnonzero(rng.random(tokens) < 0.5).tolist()
        targets = np.flatnonzero(rng.random(tokens) < 0.6).tolist()
        routes = agree(pattern, layers, sources, targets)
        seen.add(routes)
        sets = naive.layers_of(pattern)
        assert brute_force.rank_of_random_weights(sets, layers, sources, targets, rng) == routes
    assert seen >= {0, 1, 2, 3}


@pytest.mark.parametrize(("tokens", "layers"), [(4, 1), (4, 3), (5, 2), (6, 1)])
def test_the_smallest_of_all_halves(tokens, layers):
    rng = np.random.default_rng([tokens, layers])
    for _ in range(12):
        pattern = random_pattern(rng, tokens, period=2)
        sets, everything = naive.layers_of(pattern), set(range(tokens))
        if naive.is_causal(sets):
            continue
        sizes = {tokens // 2, tokens - tokens // 2}
        every = [set(some) for size in sizes for some in itertools.combinations(range(tokens), size)]
        expected = min(brute_force.fewest_places(sets, layers, some, everything - some) for some in every)
        found = capacity(pattern, layers)
        assert (found.value, found.halves, found.every_half) == (expected, len(every), True)


@pytest.mark.parametrize(
    ("family", "across", "expected"),
    [(Star(), 4, 4), (Longformer(8, 4), 24, 24), (Strided(), 128, 121), (SlidingWindow(8), 16, 16)],
)
def test_patterns_that_universality_does_not_tell_apart(family, across, expected):
    """At 256 tokens in 2 layers; the rank of random weights is a third way to count."""
    found = capacity(family, 2, tokens=256)
    assert (found.value, found.messages, found.every_half) == (expected, 128, False)
    assert len(found.cut) == expected
    sets = naive.layers_of(family.at(256))
    rng = np.random.default_rng(0)
    half = found.half
    assert brute_force.rank_of_random_weights(sets, 2, half.sources, half.targets, rng) == expected
    assert dict(found.carried)["first half → second half"] == across
    assert min(dict(found.carried).values()) == expected


def test_more_layers_carry_more_and_full_attention_everything():
    values = [capacity(Star(), layers, tokens=40).value for layers in range(1, 9)]
    assert values == sorted(values)
    assert values[0] == 2
    for tokens in (1, 2, 5, 13, 30):
        assert capacity(Full(), 1, tokens).value == capacity(Causal(Full()), 1, tokens).value == tokens // 2


def test_layers_come_in_order():
    """Along the rows nearly nothing leaves the first half of the rows, along the columns everything does."""
    rows, columns = named("block-local", block=5), named("dilated-window", half_width=9, dilation=5)
    orders = ((rows, columns), (columns, rows))
    one, other = (dict(capacity(Sequential(parts), 1, tokens=25).carried) for parts in orders)
    assert (one["first half → second half"], other["first half → second half"]) == (2, 10)
    assert one["first half → second half"] == dict(capacity(rows, 1, tokens=25).carried)["first half → second half"]


def test_the_halves_of_long_patterns():
    tried = halves.halves_of(Star().at(37), 2)
    assert {half.name for half in tried} >= {
        "first half → second half",
        "second half → first half",
        "even stripes of 1 → odd stripes of 1",
        "odd stripes of 16 → even stripes of 16",
    }
    for half in tried:
        assert len(half.sources) in (18, 19)
        assert sorted([*half.sources, *half.targets]) == list(range(37))
    assert tried[0].sources == tuple(range(18))


def test_tokens_that_nobody_sees_are_asked_to_send():
    """Half of the tokens are seen by themselves alone: nothing of them gets across, whatever their numbers are."""
    rng = np.random.default_rng(1)
    hidden = rng.permutation(20) < 10
    dense = np.tile(~hidden, (20, 1)) | np.eye(20, dtype=bool)
    found = capacity(from_matrix(dense), 4)
    assert (found.value, found.half.name) == (0, "fewest routes out → most routes out")
    assert found.half.sources == tuple(np.flatnonzero(hidden))
    assert dict(capacity(from_matrix(dense.T), 4).carried)["most routes in → fewest routes in"] == 0


def test_the_halves_that_are_tried_are_often_the_narrowest():
    found = []
    for name, layers in itertools.product(("star", "strided", "fixed", "bigbird", "hypercube", "random"), (1, 2)):
        pattern = named(name).at(8)
        network = unrolled([pattern.layer(depth) for depth in range(layers)])
        tried = halves.natural_halves(pattern, layers)
        narrowest = min(most_routes(network, half.sources, half.targets) for half in tried)
        found.append(narrowest - capacity(pattern, layers).value)
    assert min(found) >= 0
    assert found.count(0) >= 10


def test_tokens_that_see_each_other_are_found_wherever_they_stand():
    """Two cliques with a bridge of one token, shuffled: no stripes tell them apart."""
    rng = np.random.default_rng(3)
    dense = np.kron(np.eye(2, dtype=bool), np.ones((20, 20), dtype=bool))
    dense[19, 20] = dense[20, 19] = True
    order = rng.permutation(40)
    found = capacity(from_matrix(dense[np.ix_(order, order)]), 3)
    # From the bridge's one end to the other, a message a layer at most.
    assert found.value <= 3
    assert "Cuthill" in found.half.name


def test_causal_patterns_are_asked_forwards():
    found = capacity(Causal(SlidingWindow(2)), 3, tokens=21)
    assert found.value == 6
    assert all(max(half.sources) < 21 for half in halves.halves_of(Causal(Full()).at(21), 3))
    names = dict(found.carried)
    assert "first half → second half" in names
    assert "second half → first half" not in names
    # All ways to send forwards at 6 tokens: Catalan's number.
    assert capacity(Causal(Full()), 1, tokens=6).halves == 5


def test_a_cut_that_is_too_small_or_elsewhere_is_caught():
    pattern = BigBird(1, 1, 1).at(20)
    steps = [pattern.layer(0)] * 2
    found = capacity(pattern, 2)
    ends = (found.half.sources, found.half.targets)
    assert separates(found.cut, steps, *ends)
    for missing in found.cut:
        fewer = [place for place in found.cut if place != missing]
        assert not separates(fewer, steps, *ends)
        layer, token = missing
        others = [(other, token) for other in range(3) if other != layer and (other, token) not in found.cut]
        moved = [separates([*fewer, place], steps, *ends) for place in others]
        sets = brute_force.steps(naive.layers_of(pattern), 2)
        assert moved == [not brute_force.is_open(sets, *ends, {*fewer, place}) for place in others]
    assert not separates(found.cut, [Full().at(20).layer(0)] * 2, *ends)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_no_more_than_the_bits_of_the_cut_get_across(layers):
    """Tokens of one bit, layers of random tables: the outputs of the others take at most 2^κ values."""
    rng, tight = np.random.default_rng(layers), 0
    for _ in range(60):
        pattern = random_pattern(rng, 6, 2)
        steps = brute_force.steps(naive.layers_of(pattern), layers)
        routes = most_routes(unrolled([pattern.layer(depth) for depth in range(layers)]), (0, 1, 2), (3, 4, 5))
        tables = [[rng.integers(0, 2, (2,) * len(sees)) for sees in layer] for layer in steps]
        values = set()
        for bits in itertools.product((0, 1), repeat=3):
            state = (*bits, 0, 1, 0)
            for layer, looked_up in zip(steps, tables, strict=True):
                pairs = zip(layer, looked_up, strict=True)
                state = tuple(int(table[tuple(state[j] for j in sorted(sees))]) for sees, table in pairs)
            values.add(state[3:])
        assert len(values) <= 2**routes
        tight += len(values) == 2**routes and 0 < routes < 3
    assert tight  # and some tables need all of them


def test_the_report_in_words_and_as_json():
    found = capacity(Longformer(2, 1), 2, tokens=16)
    assert str(found) == "6 of 8 messages in 2 layers, first half → second half, the narrowest of 14 halves"
    assert "after layer 0" in found.bottleneck()
    data = json.loads(json.dumps(found.to_json()))
    assert data["value"] == 6 == len(data["cut"]) == data["carried"][data["half"]["name"]]
    assert str(capacity(Star(), 1, tokens=4)).endswith("the narrowest of all 6 halves")


def test_what_is_too_large_is_not_computed(monkeypatch):
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 100)
    found = capacity(Star(), 2, tokens=30)
    assert found.value is None
    assert str(found) == "not computed: 288 connections in 2 layers are more than the 100 followed"
    assert found.to_json()["reason"] == found.reason
    assert found.bottleneck() == ""


def test_wrong_arguments():
    with pytest.raises(PatternError, match="layers must be at least 1; got 0"):
        capacity(Star(), 0, tokens=8)
    with pytest.raises(PatternError, match="tokens must be given with a family"):
        capacity(Star(), 2)
    with pytest.raises(PatternError, match="must be left out or be 5"):
        capacity(Star().at(5), 2, tokens=6)
