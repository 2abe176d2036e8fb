"""Every pattern of the catalogue: the battery, its verdict, γ and s against the naive program."""

import numpy as np
import pytest

from anyformer.patterns import (
    CATALOGUE,
    Answer,
    Arrangement,
    Causal,
    PatternError,
    Strided,
    check_pattern,
    check_universality,
    descriptions,
    named,
    parse,
)
from tests.patterns import naive
from tests.patterns.universality.witnessing import check_witnesses

LENGTHS = (4, 16, 64, 256)
REFUTED = {"dilated-window", "block-local"}
CAUSAL = {name for name in CATALOGUE if name.startswith("causal")}
# The smallest s of the literature, at any length of LENGTHS.
KNOWN_S = {
    "full": lambda n: 1,
    "sliding-window": lambda n: n - 1,
    "strided": lambda n: 2,
    "fixed": lambda n: 2,
    "star": lambda n: min(2, n - 2),
    "plain-star": lambda n: 2,
    "bigbird": lambda n: 2 if n > 4 else 1,
    "longformer": lambda n: 2,
    "axial": lambda n: 2,
    "hypercube": lambda n: n.bit_length() - 1,
    "butterfly": lambda n: n.bit_length() - 1,
    "ring": lambda n: n // 2,
}


def expected(name):
    known = {**dict.fromkeys(REFUTED, "REFUTED"), **dict.fromkeys(CAUSAL, "CAUSAL"), "plain-star": "STAR"}
    return known.get(name, "PAPER_B")


@pytest.mark.parametrize("tokens", LENGTHS)
@pytest.mark.parametrize("name", CATALOGUE)
def test_verdict_path_and_s(name, tokens):
    family = named(name)
    pattern, report = family.at(tokens), check_universality(family, tokens)
    layers = naive.layers_of(pattern)
    assert report.verdict.name == expected(name)
    assert report.self_loops.answer is Answer.HOLDS
    assert report.reach.hops == naive.smallest_s(layers)
    if name in KNOWN_S:
        assert report.reach.hops == KNOWN_S[name](tokens)
    assert (report.path.answer is Answer.HOLDS) == (name not in {"plain-star", "dilated-window", "block-local"})
    check_witnesses(pattern, report)
    assert report.connections == tuple(sum(map(len, layer)) for layer in layers)


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_battery(name):
    check_pattern(named(name))


@pytest.mark.parametrize("name", CATALOGUE)
def test_awkward_lengths_agree_with_the_naive_program(name):
    for tokens in range(1, 10):
        family = named(name)
        report = check_universality(family, tokens)
        assert report.verdict.name == naive.verdict(family.at(tokens)), tokens
        assert report.reach.hops == naive.smallest_s(naive.layers_of(family.at(tokens))), tokens


def test_causal_masks_are_universal_among_causal_functions_only():
    for name in CAUSAL:
        report = check_universality(named(name), 7)
        assert report.is_causally_universal
        assert not report.is_universal
        assert str(report.never_meet) == "output 0 never depends on input 1, whatever the number of layers"
        assert report.repair.connections == 0


@pytest.mark.parametrize(
    ("tokens", "verdict"), [(1, "PAPER_B"), (2, "PAPER_B"), (3, "PAPER_B"), (4, "STAR"), (9, "STAR")]
)
def test_a_star_without_a_ring_has_no_path_from_four_tokens_on(tokens, verdict):
    report = check_universality(named("plain-star"), tokens)
    assert report.verdict.name == verdict
    if tokens > 3:
        assert report.path.witness.tokens == (0,)
        assert report.is_universal


@pytest.mark.parametrize("name", ["strided", "fixed", "axial"])
@pytest.mark.parametrize("arrangement", Arrangement)
def test_arrangements(name, arrangement):
    family = named(name, arrangement=arrangement.value)
    report = check_universality(family, 23)
    assert report.verdict.name == "PAPER_B"
    assert report.period == (2 if arrangement is Arrangement.SEQUENTIAL else 1)
    assert len(family.at(23).layers[0]) == (2 if arrangement is Arrangement.MULTIHEAD else 1)
    check_pattern(family)


@pytest.mark.parametrize(
    ("name", "exponent"), [("full", 2), ("strided", 1.5), ("star", 1), ("ring", 1), ("butterfly", 1), ("causal", 2)]
)
def test_growth(name, exponent):
    growth = check_universality(named(name), 256).growth
    assert growth.tokens == (256, 512, 1024)
    assert growth.exponent == pytest.approx(exponent, abs=0.03)


def test_patterns_of_the_papers_as_they_stand():
    fixed = naive.layers_of(named("fixed", block=3).at(8))
    assert fixed[0][4] == {3, 4, 5}
    assert fixed[0][7] == {6, 7}
    assert fixed[1][4] == {2, 4, 5, 7}
    strided = naive.layers_of(named("strided", stride=3).at(8))
    assert strided[0][4] == {1, 2, 3, 4, 5, 6, 7}
    assert strided[1][4] == {1, 4, 7}
    star = naive.layers_of(named("star").at(6))[0]
    assert star == [set(range(6)), {0, 1, 2}, {0, 1, 2, 3}, {0, 2, 3, 4}, {0, 3, 4, 5}, {0, 4, 5}]
    assert naive.layers_of(named("longformer", half_width=1, global_tokens=2).at(7))[0][5] == {0, 1, 4, 5, 6}
    assert naive.layers_of(named("dilated-window", half_width=2, dilation=3).at(9))[0][4] == {1, 4, 7}
    assert naive.layers_of(named("axial", columns=3).at(7))[1][3] == {0, 3, 6}
    assert naive.layers_of(named("butterfly").at(6))[2][1] == {1, 5}
    assert naive.layers_of(named("hypercube").at(6))[0][1] == {0, 1, 3, 5}
    assert naive.layers_of(named("causal-sliding-window", half_width=2).at(5))[0][3] == {1, 2, 3}


def test_random_keys_are_as_many_as_asked_and_follow_the_seed():
    sees = naive.layers_of(named("random", density=0.25, seed=3).at(21))[0]
    assert {len(keys) for keys in sees} == {1 + 6}
    assert all(k in keys for k, keys in enumerate(sees))
    assert named("random", seed=3).at(21) == named("random", seed=3).at(21) != named("random", seed=4).at(21)
    counts = np.zeros((5, 5))
    for seed in range(2000):
        for query, keys in enumerate(naive.layers_of(named("random", density=0.4, seed=seed).at(5))[0]):
            counts[query, list(keys)] += 1
    # 2 of 4 others each: a fair coin, thrown 2,000 times; six standard deviations are 134.
    assert np.abs(counts - 1000 - 1000 * np.eye(5)).max() < 134


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in ("full", "causal")])
def test_long_sequences_build(name):
    assert named(name).at(4096).tokens == 4096


def test_linear_patterns_build_at_a_hundred_thousand_tokens():
    for name in (
        "sliding-window",
        "dilated-window",
        "star",
        "plain-star",
        "bigbird",
        "longformer",
        "ring",
        "butterfly",
    ):
        assert named(name).at(100_000).tokens == 100_000
    report = check_universality(named("star"), 100_000)
    assert report.verdict.name == "PAPER_B"
    assert report.reach.hops == 2


def test_names_and_options():
    assert len(CATALOGUE) >= 16
    assert parse("causal-strided: stride=4, arrangement=union") == Causal(Strided(4, Arrangement.UNION))
    assert parse("ring") == named("ring")
    assert parse("sliding_window:3") == named("sliding-window", half_width=3)
    assert parse("random:density=0.5,seed=2") == named("random", density=0.5, seed=2)
    assert set(descriptions()) == set(CATALOGUE)
    assert all(descriptions().values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slidingwindow", "Did you mean 'sliding-window'"),
        ("ring:half_width=2", "the pattern 'ring' must get no parameters; got 'half_width'. Leave it out"),
        ("sliding-window:width=2", "no parameters but half_width; got 'width'. Did you mean 'half_width'"),
        ("strided:4", "must read key=value, .* got '4'. Example: strided:stride="),
        ("strided:stride=2,stride=3", "given once each; got 'stride' twice"),
        ("strided:stride=0", "stride must be at least 1; got 0"),
        ("strided:stride=x", "stride must be a whole number; got 'x'"),
        ("strided:arrangement=both", "arrangement must be one of union, sequential, multihead; got 'both'"),
        ("random:density=2", "density must be between 0 and 1; got 2"),
        ("random:density=x", "density must be between 0 and 1; got 'x'"),
    ],
)
def test_wrong_names_and_options(text, message):
    with pytest.raises(PatternError, match=message):
        parse(text)


def test_full_attention_too_long_to_store_says_so():
    with pytest.raises(PatternError, match="Choose a sparse pattern"):
        named("full").at(100_000)
