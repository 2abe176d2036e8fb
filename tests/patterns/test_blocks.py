"""Families on blocks of tokens, unions by `|`, and a number of random keys."""

from dataclasses import dataclass

import numpy as np
import pytest

from anyformer.patterns import (
    BigBird,
    Blocked,
    Causal,
    DilatedWindow,
    Full,
    Intersection,
    Multihead,
    PatternError,
    PatternFamily,
    PlainStar,
    Random,
    Ring,
    SlidingWindow,
    Star,
    Strided,
    Union,
    blocked,
    check_pattern,
    check_universality,
    from_edges,
    union,
)
from anyformer.patterns.universality.paths import is_path
from tests.patterns import naive
from tests.patterns.samples import random_pattern


@dataclass(frozen=True)  # its name has no address in it: test runners compare names between processes
class Backwards(PatternFamily):
    """Every token sees only its mirror image, so that few see themselves; its path holds for two tokens."""

    def at(self, tokens):
        return from_edges([(k, tokens - 1 - k) for k in range(tokens)], tokens)

    def path(self, tokens):
        return np.array([1, 0]) if tokens == 2 else None


@pytest.mark.parametrize(("tokens", "block"), [(1, 1), (1, 5), (7, 1), (12, 4), (13, 4), (5, 3), (20, 64)])
def test_a_pair_of_blocks_is_a_square_of_pairs(tokens, block):
    blocks = -(-tokens // block)
    inner = random_pattern(np.random.default_rng(tokens * block), blocks, 3, heads=2, loops=False)
    built = blocked(inner, block, tokens)
    assert [len(layer) for layer in built.layers] == [2, 2, 2]
    for spread, small in zip(built.lists(), inner.lists(), strict=True):
        sees = naive.sets(small)
        assert naive.sets(spread) == [
            {j for j in range(tokens) if j // block in sees[k // block]} for k in range(tokens)
        ]


@pytest.mark.parametrize(
    "family",
    [
        Blocked(BigBird(), 3),
        Blocked(Ring(), 1),
        Blocked(Strided(arrangement="multihead"), 2),
        Blocked(PlainStar(), 4),
        Blocked(Causal(SlidingWindow(2)), 3),
        Causal(Blocked(Star(), 3)),
        Blocked(Blocked(Star(), 2), 2),
        Blocked(Backwards(), 3),
        Blocked(Union((DilatedWindow(), Ring())), 2),
    ],
    ids=repr,
)
def test_blocks_pass_the_battery(family):
    check_pattern(family)


def test_the_path_of_the_blocks_is_one_of_the_tokens():
    family = Blocked(Strided(), 4)
    for tokens in (1, 4, 18, 33):
        assert is_path(family.at(tokens).union, family.path(tokens))
    assert Causal(family).path(18).tolist() == list(range(18))
    assert Blocked(Ring(), 1).path(5).tolist() == [0, 1, 2, 3, 4]
    # Blocks that do not see themselves have no path inside.
    assert Blocked(Backwards(), 3).path(6) is None
    assert Blocked(Backwards(), 1).path(2).tolist() == [1, 0]


def test_blocks_keep_the_verdict_and_the_hops():
    report = check_universality(Blocked(BigBird(random_keys=3), block=8), 1000)
    assert report.verdict.name == "PAPER_B"
    assert report.reach.hops == 2
    assert report.path.found_by == "known for this family"
    assert check_universality(Blocked(DilatedWindow(), block=8), 100).verdict.name == "REFUTED"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Blocked(Ring().at(3), 2), r"must be of a family; got SparsityPattern.*See blocked\(\)"),
        (lambda: Blocked(Ring(), 0), "block must be at least 1; got 0"),
        (lambda: Blocked(Ring(), 2.0), "block must be a whole number; got 2.0"),
        (lambda: Blocked(Ring(), True), "block must be a whole number; got True"),
        (lambda: blocked(Ring().at(4), 3, 13), "must have 5 tokens, one for each block of 3 of the 13; it has 4"),
        (lambda: Blocked(Full(), 1024).at(2**20), "at most 268,435,456 connections"),
    ],
)
def test_what_is_no_blocked_pattern_is_refused(call, message):
    with pytest.raises(PatternError, match=message):
        call()


def test_a_bar_unites_families_in_one_union():
    one, two, three, four = Ring(), SlidingWindow(2), PlainStar(), Random(keys=2)
    assert one | two == Union((one, two))
    assert (one | two) | three == one | (two | three) == Union((one, two, three))
    assert (one | two) | (three | four) == Union((one, two, three, four))
    assert Intersection((one, two)) | three == Union((Intersection((one, two)), three))
    assert (one | two).at(9) == union([one.at(9), two.at(9)])


def test_a_bar_unites_patterns_of_one_length():
    rng = np.random.default_rng(1)
    one, two = random_pattern(rng, 5, 2, heads=3), random_pattern(rng, 5, 3)
    assert one | two == union([one, two])
    with pytest.raises(PatternError, match=r"same length; got 2 of lengths \[4, 5\]"):
        Ring().at(4) | Ring().at(5)


@pytest.mark.parametrize(("one", "other"), [(Ring(), Ring().at(3)), (Ring().at(3), Ring()), (Ring(), 3)])
def test_a_bar_unites_nothing_else(one, other):
    with pytest.raises(TypeError, match="unsupported operand"):
        one | other


def test_a_number_of_random_keys():
    for tokens in (1, 3, 50):
        degrees = Random(keys=4).at(tokens).layer(0).degrees
        assert set(degrees.tolist()) == {min(5, tokens)}
    assert Random(keys=0).at(4).layer(0).degrees.tolist() == [1, 1, 1, 1]
    # The same keys as of a density that asks for as many.
    assert Random(keys=5, seed=3).at(20) == Random(density=0.25, seed=3).at(20)
    assert Multihead((Random(keys=1, seed=1), Random(keys=1, seed=2))).at(30).layers[0][0].connections == 60


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": 2, "density": 0.5}, "either density or keys must be given, not both; got density=0.5 and keys=2"),
        ({"keys": -1}, "keys must be at least 0; got -1"),
        ({"keys": 1.5}, "keys must be a whole number; got 1.5"),
        ({"density": True}, "density must be between 0 and 1; got True"),
    ],
)
def test_random_keys_that_make_no_sense(options, message):
    with pytest.raises(PatternError, match=message):
        Random(**options)


def test_battery_for_random_keys():
    check_pattern(Random(keys=3, seed=2))
    check_pattern(Multihead((Random(keys=1), Ring())))
