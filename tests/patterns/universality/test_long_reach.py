"""Bounds on s for long sequences: true for every pattern, and exact where a search from a few tokens decides."""

import numpy as np
import pytest

from anyformer.patterns import (
    Answer,
    BigBird,
    Butterfly,
    DilatedWindow,
    Longformer,
    PlainStar,
    Random,
    Ring,
    Sequential,
    SlidingWindow,
    Star,
    Strided,
    check_universality,
)
from anyformer.patterns.universality import checker, long_reach
from tests.patterns import naive
from tests.patterns.samples import random_pattern, random_tree


@pytest.mark.parametrize("seed", range(8))
def test_s_lies_between_the_bounds(seed):
    rng, tried = np.random.default_rng(seed), 0
    for period, heads in ((1, 1), (2, 1), (3, 2)):
        for tokens in range(1, 9):
            pattern = random_pattern(rng, tokens, period, heads)
            s = naive.smallest_s(naive.layers_of(pattern))
            if s is not None:
                low, high = long_reach.hop_bounds(pattern.seen)
                assert low <= s <= high, (pattern, low, s, high)
                tried += 1
    for tokens in range(1, 15):
        tree = random_tree(rng, tokens)
        low, high = long_reach.hop_bounds(tree.seen)
        assert low <= naive.smallest_s(naive.layers_of(tree)) <= high
    assert tried > 8


@pytest.mark.parametrize("phases", [0, 2**22])
def test_the_bounds_hold_with_a_hub_in_one_phase_only(phases, monkeypatch):
    monkeypatch.setattr(long_reach, "_MOST_PHASES", phases)
    for pattern in (Strided().at(30), Butterfly().at(21), Sequential((Ring(), Star(), DilatedWindow())).at(17)):
        low, high = long_reach.hop_bounds(pattern.seen)
        assert low <= naive.smallest_s(naive.layers_of(pattern)) <= high


@pytest.mark.parametrize(
    ("family", "s"),
    [
        (Star(), 2),
        (PlainStar(), 2),
        (BigBird(), 2),
        (Longformer(3, 2), 2),
        (SlidingWindow(1), 19_999),
        (SlidingWindow(2), 10_000),
        # Every source tells the relay in the second layer, and it tells them in the fifth.
        (Sequential((Ring(), PlainStar(), DilatedWindow())), 5),
    ],
    ids=repr,
)
def test_long_sequences_have_their_s(family, s):
    reach = check_universality(family, 20_000).reach
    assert (reach.answer, reach.hops, reach.at_least, reach.at_most) == (Answer.HOLDS, s, s, s)


def test_what_would_take_long_is_bounded_from_both_sides(monkeypatch):
    reach = check_universality(Ring(), 20_000).reach
    assert (reach.answer, reach.hops, reach.at_least, reach.at_most) == (Answer.HOLDS, None, 10_000, 19_999)
    assert "holds: 10000 ≤ s ≤ 19999; the smallest s of so many tokens" in str(reach)
    monkeypatch.setattr(checker, "EXACT_TOKENS", 8)
    assert check_universality(Ring(), 40).reach.hops == 20  # cheap, so it is worked out
    monkeypatch.setattr(long_reach, "_AFFORDABLE", 0.0)
    report = check_universality(Ring(), 40)
    assert (report.reach.hops, report.reach.at_least, report.reach.at_most) == (None, 20, 39)
    assert report.verdict.name == "PAPER_B"


def test_where_the_bounds_differ_every_pair_is_followed(monkeypatch):
    monkeypatch.setattr(checker, "EXACT_TOKENS", 8)
    for pattern in (Random(keys=9).at(150), Butterfly().at(70), Strided().at(90)):
        low, high = long_reach.hop_bounds(pattern.seen)
        assert low < high
        reach = check_universality(pattern).reach
        assert reach.hops == reach.at_least == reach.at_most == naive.smallest_s(naive.layers_of(pattern))
