"""The report of the copying task: capacities by hand, tables and pictures from made-up results."""

import json
from itertools import combinations, product

import pytest

from anyformer.patterns import Fixed, Full, PlainStar, SlidingWindow, Strided
from anyformer.reports.copying import (
    KINDS,
    Copied,
    carried,
    ceiling,
    detail_table,
    markdown_table,
    share_of_links,
    show_results,
    within_reach,
)
from anyformer.training.copying.budgets import BUDGETS, entrants
from anyformer.training.copying.task import Alphabet

FOUR = Alphabet(length=4, symbols=6)


def made(name: str, layers: int, **given) -> Copied:
    facts = {"links": 0.25, "within_reach": 1.0, "capacity": 3, "symbols": (0.5, 0.75), "sequences": (0.0, 0.25)}
    return Copied(name, layers, **{**facts, "steps": (2000, 900), "seconds": (60.0, 31.5), **given})


def test_capacities_by_hand():
    """Ten tokens: 0 s 0 s with four symbols. A star's one relay, and what a window pushes over the middle."""
    assert carried(Full().at(10), 1, FOUR) == 4
    # One layer: token 0 is no symbol. Two layers: all pass the relay after layer 0.
    assert [carried(PlainStar().at(10), layers, FOUR) for layers in (1, 2, 3)] == [0, 1, 2]
    # Symbols are at 1 … 4, their copies at 6 … 9: a window of 2 brings only token 4 over in one layer.
    assert [carried(SlidingWindow(2).at(10), layers, FOUR) for layers in (1, 2, 3)] == [1, 3, 4]
    assert carried(Strided(5, "union").at(10), 1, FOUR) == 4


@pytest.mark.parametrize("family", [Fixed(3, "union"), Strided(3, "sequential"), SlidingWindow(1)])
def test_capacity_is_the_smallest_cut(family):
    """By Menger's theorem: all sets of places are tried, from small to large."""
    alphabet, layers = Alphabet(length=2, symbols=2), 2
    pattern = family.at(alphabet.tokens)
    places = list(product(range(layers + 1), range(alphabet.tokens)))
    smallest = next(
        size
        for size in range(len(places))
        if any(not passes(pattern, layers, alphabet, set(cut)) for cut in combinations(places, size))
    )
    assert carried(pattern, layers, alphabet) == smallest


def passes(pattern, layers: int, alphabet: Alphabet, cut: set) -> bool:
    """Whether anything gets from the first s to the second without these places."""
    alive = {token for token in range(1, alphabet.half) if (0, token) not in cut}
    for layer in range(layers):
        seen = pattern.layer(layer)
        alive = {
            token
            for token in range(alphabet.tokens)
            if (layer + 1, token) not in cut and alive & {token, *seen.keys_of(token).tolist()}
        }
    return any(token in alive for token in range(alphabet.half + 1, alphabet.tokens))


def test_links_are_those_of_the_layers_and_heads_in_use():
    window, far = 3 * 10 - 2, 50  # a window of 1; tokens of the same parity
    assert share_of_links(Strided(2, "sequential").at(10), 1) == (10 + 2 * (9 + 8)) / 100
    assert share_of_links(Strided(2, "sequential").at(10), 2) == pytest.approx(((10 + 34) + far) / 200)
    assert share_of_links(Strided(2, "multihead").at(10), 3) == pytest.approx(((10 + 34) + far) / 200)
    assert share_of_links(SlidingWindow(1).at(10), 4) == window / 100


def test_what_is_out_of_reach_is_guessed():
    assert within_reach(SlidingWindow(2).at(10), 2, FOUR) == 0.0
    assert within_reach(SlidingWindow(2).at(10), 3, FOUR) == 1.0
    assert ceiling(made("window", 2, within_reach=0.0), symbols=5) == 0.2
    assert ceiling(made("random", 2, within_reach=0.75), symbols=5) == pytest.approx(0.8)


def test_the_tables_show_every_seed_that_differs():
    rows = [made("dense", 1, symbols=(1.0, 1.0)), made("dense", 2), made("fixed-union", 2, symbols=(0.25,))]
    assert markdown_table(rows).splitlines() == [
        "| pattern | links (%) | 1 layer | 2 layers | paper |",
        "| --- | --- | --- | --- | --- |",
        "| dense | 25 | 100.0 | 62.5 (50.0, 75.0) |  |",
        "| fixed-union | 25 |  | 25.0 | 100 % by 2 to 4 layers |",
    ]
    assert detail_table(rows[1:2], 6).splitlines()[2] == (
        "| dense | 2 | 3 | 100.0 | 62.5 (50.0, 75.0) | 12.5 (0.0, 25.0) | 2,000, 900 |"
    )


def test_names_fall_into_kind_and_arrangement():
    assert [
        (made(name, 1).kind, made(name, 1).arrangement) for name in ("strided-off-union", "star-window", "star")
    ] == [
        ("strided-off", "union"),
        ("star-window", ""),
        ("star", ""),
    ]


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_every_entrant_has_a_look_of_its_own(budget):
    kinds = {made(entrant.name, 1).kind for entrant in entrants(budget.window)}
    assert kinds == set(KINDS)
    assert len(set(KINDS.values())) == len(KINDS)


def test_the_report_is_made_from_the_file_alone(tmp_path):
    outcomes = [
        {**vars(made(entrant.name, layers)), "capacity": layers + place, "within_reach": 0.5 + 0.5 * (layers > 1)}
        for place, entrant in enumerate(entrants(4))
        for layers in (1, 2)
    ]
    data = {"budget": {"alphabet": {"length": 7, "symbols": 7}}, "outcomes": outcomes}
    shown = show_results(json.loads(json.dumps(data)), tmp_path)
    assert shown == [Copied(**outcome) for outcome in outcomes]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["capacity.png", "depths.png", "details.md", "table.md"]
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    show_results(data, tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
