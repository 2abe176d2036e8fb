"""What patterns carry: counted by hand, and against all cuts."""

from itertools import combinations, product

import pytest

from anyformer.patterns import Fixed, Full, PlainStar, SlidingWindow, Strided
from anyformer.training.copying.carrying import carried, share_of_links, within_reach
from anyformer.training.copying.task import Alphabet

FOUR = Alphabet(length=4, symbols=6)


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


def test_reach_counts_the_layers():
    assert [within_reach(SlidingWindow(2).at(10), layers, FOUR) for layers in (1, 2, 3)] == [0.0, 0.0, 1.0]
    # The offset is 5: strides of 5 have a link for each symbol, a shorter one needs a step aside.
    assert within_reach(Strided(5, "union").at(10), 1, FOUR) == 1.0
    assert [within_reach(Strided(3, "union").at(10), layers, FOUR) for layers in (1, 2)] == [0.0, 1.0]
    assert within_reach(Fixed(3, "sequential").at(10), 1, FOUR) == 0.0
