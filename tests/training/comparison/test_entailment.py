"""Entailment split three ways: no text on two sides, nothing lost without being counted, and leaks are caught."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.errors import TrainingError
from anyformer.training.comparison.entailment import (
    NEAR,
    SHARES,
    Shares,
    check_split,
    folded,
    linked,
    read_entailment,
    source_name,
    split_entailment,
)
from anyformer.training.comparison.near_duplicates import near_duplicates
from anyformer.training.data.pairs import Pairs
from tests.training.data.samples import DATA, needs_data, pack

NAMES = ("contradiction", "entailment", "neutral")


def many(count=400, seed=0):
    """Three hypotheses of each premise; every tenth hypothesis stands with two premises."""
    first = tuple(f"P{n // 3} p{n // 3}a, p{n // 3}b p{n // 3}c" for n in range(count))
    second = tuple(f"h{n % 200} so" if n % 10 == 0 else f"h{n} is{n} so{n} now{n}." for n in range(count))
    pairs = Pairs(first, second, tuple(n % 3 for n in range(count)), NAMES)
    return split_entailment(pairs, tuple("mnli" if n < 150 else "snli" for n in range(count)), seed)


def test_sides_have_their_shares_and_keep_the_sources():
    split = many()
    check_split(split)
    assert len(split.train) + len(split.validation) + len(split.test) + split.dropped.total == 400
    assert split.largest > 3
    for part, share in ((split.validation, SHARES.validation), (split.test, SHARES.test)):
        # Components of at most `largest` pairs are drawn independently: five standard deviations of their sum.
        assert abs(len(part) - 400 * share) <= 5 * (400 * split.largest * share * (1 - share)) ** 0.5
        assert len(part.sources) == len(part.groups) == len(part.pairs)
        assert set(part.sources) == {"mnli", "snli"}
        for text, source in zip(part.pairs.first, part.sources, strict=True):
            assert source == ("mnli" if int(text.split()[0][1:]) < 50 else "snli")


def test_pairs_of_one_group_share_texts_and_groups_are_on_one_side():
    split = many()
    groups = [set(part.groups) for part in (split.train, split.validation, split.test)]
    assert len(set.union(*groups)) == sum(map(len, groups)) == split.components
    of_premise = {}
    for text, group in zip(split.train.pairs.first, split.train.groups, strict=True):
        assert of_premise.setdefault(folded(text), group) == group


def test_a_split_depends_on_the_seed_and_not_on_the_order():
    pairs = Pairs(tuple(f"p{n}" for n in range(60)), tuple(f"h{n // 2}" for n in range(60)), (0, 1, 2) * 20, NAMES)
    sources = tuple("ab"[n % 2] for n in range(60))
    turned = Pairs(pairs.first[::-1], pairs.second[::-1], pairs.labels[::-1], NAMES)
    one, other = split_entailment(pairs, sources, 1), split_entailment(turned, sources[::-1], 1)
    assert one == other
    assert one.digest == other.digest == one.test.digest
    assert split_entailment(pairs, sources, 2).digest != one.digest


def test_the_digest_names_every_fact_of_the_test_set():
    test = many().test
    other_label = replace(test, pairs=replace(test.pairs, labels=(2 - test.pairs.labels[0], *test.pairs.labels[1:])))
    other_source = replace(test, sources=("other", *test.sources[1:]))
    other_text = replace(test, pairs=replace(test.pairs, second=("other", *test.pairs.second[1:])))
    assert test.pairs.labels[0] != 1
    assert len({part.digest for part in (test, other_label, other_source, other_text)}) == 4


@given(
    texts=st.lists(st.tuples(st.integers(0, 40), st.integers(20, 90)), min_size=1, max_size=80), seed=st.integers(0, 9)
)
def test_whatever_the_links_no_text_is_on_two_sides(texts, seed):
    count = len(texts)
    pairs = Pairs(
        tuple(f"T{n}!" for n, _ in texts), tuple(f" t{n}" for _, n in texts), tuple(n % 3 for n in range(count)), NAMES
    )
    try:
        split = split_entailment(pairs, ("one",) * count, seed, Shares(validation=0.3, test=0.3))
    except TrainingError:
        return  # chance left a side without pairs
    check_split(split)
    assert len(split.train) + len(split.validation) + len(split.test) + split.dropped.total == count


def test_a_large_component_is_parted_by_premise_and_only_training_and_validation_lose():
    first = tuple(f"premise{n // 4}" for n in range(400))
    second = tuple(f"shared{n % 3}" if n % 40 == 0 else f"own{n}" for n in range(400))
    pairs = Pairs(first, second, tuple(n % 3 for n in range(400)), NAMES)
    split = split_entailment(pairs, ("one",) * 400, 3)
    check_split(split)
    assert split.largest > 0.02 * 400
    assert 0 < split.dropped.shared <= 10
    # The test set has all pairs of its premises: what is dropped is of the other sides.
    assert set(Counter(split.test.pairs.first).values()) == {4}
    assert len(split.train) + len(split.validation) + len(split.test) + split.dropped.total == 400


def one_more(part, premise, hypothesis):
    pairs = part.pairs
    more = replace(pairs, first=(*pairs.first, premise), second=(*pairs.second, hypothesis), labels=(*pairs.labels, 0))
    return replace(part, pairs=more, sources=(*part.sources, "mnli"), groups=(*part.groups, -1))


@pytest.mark.parametrize(("later", "earlier"), [("test", "train"), ("test", "validation"), ("validation", "train")])
@pytest.mark.parametrize("held", ["premise", "hypothesis"])
@pytest.mark.parametrize("seen", ["premise", "hypothesis"])
def test_planted_leaks_are_caught(later, earlier, held, seen):
    split = many()
    pairs = getattr(split, later).pairs
    text = f" {(pairs.first if held == 'premise' else pairs.second)[0].upper()} ?!"
    leaking = (text, "new") if seen == "premise" else ("new", text)
    leaked = replace(split, **{earlier: one_more(getattr(split, earlier), *leaking)})
    with pytest.raises(
        TrainingError, match=rf"no text of {later} may occur in {earlier}; 1 do, as {held} in .* as {seen} in"
    ):
        check_split(leaked)


def test_splitting_by_premise_alone_is_caught():
    first, second = tuple(f"p{n // 3}" for n in range(300)), tuple(f"h{n % 140}" for n in range(300))
    pairs = Pairs(first, second, (0, 1, 2) * 100, NAMES)
    split = split_entailment(pairs, ("one",) * 300, 0)
    held = {text for text in first if int(text[1:]) % 5 == 0}

    def those(part, chosen):
        places = [place for place, text in enumerate(first) if (text in held) == chosen]
        columns = {"first": first, "second": second, "labels": pairs.labels}
        kept = {name: tuple(column[place] for place in places) for name, column in columns.items()}
        return replace(part, pairs=replace(pairs, **kept))

    other = one_more(many().validation, "far", "away")
    with pytest.raises(TrainingError, match="as hypothesis in test and as hypothesis in train, such as 'h0'"):
        check_split(replace(split, test=those(split.test, True), train=those(split.train, False), validation=other))


def sets(texts):
    return [set(f"{first} {second}".split()) for first, second in texts]


WORDS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6).map(" ".join)
TEXTS = st.lists(st.tuples(WORDS, WORDS), max_size=12)


@given(texts=TEXTS, others=TEXTS, least=st.sampled_from([Fraction(1, 3), Fraction(3, 5), NEAR, Fraction(1)]))
def test_near_duplicates_are_those_of_the_slow_search(texts, others, least):
    slow = tuple(
        place
        for place, bag in enumerate(sets(texts))
        if any(Fraction(len(bag & other), len(bag | other)) >= least for other in sets(others))
    )
    assert near_duplicates(texts, others, least) == slow


def test_near_duplicates_of_later_sides_are_dropped_and_counted():
    # No text occurs twice. Any two of the forty pairs with odd numbers have the same eight words.
    words = "abcdefgh"
    first = tuple(f"{' '.join(words)} {'a ' * n}" if n % 2 else f"far{n}" for n in range(80))
    second = tuple("b " * n if n % 2 else f"away{n}" for n in range(80))
    pairs = Pairs(first, second, tuple(n % 3 for n in range(80)), NAMES)
    split = split_entailment(pairs, ("one",) * 80, 0)
    check_split(split)
    assert split.components == 80
    assert split.dropped.shared == 0
    assert split.dropped.near["train-test"] > split.dropped.near["validation-test"] > 0
    assert split.dropped.near["train-validation"] == 0
    assert len(split.train) + len(split.validation) + len(split.test) + split.dropped.total == 80
    assert all(text.startswith("far") for text in (*split.train.pairs.first, *split.validation.pairs.first))
    assert any(text.startswith("a") for text in split.test.pairs.first)


def test_folded_texts_forget_case_punctuation_and_space():
    assert folded("It’s A\u00a0  “Dog”!") == folded("it's a dog") == "it s a dog"
    assert folded("...") != folded("?")
    assert folded("snake_case") == "snake case"
    assert folded("STRASSE") == folded("Straße")


def test_components_link_over_both_roles():
    assert linked([("z", "y"), ("q", "r"), ("x", "z"), ("r", "r"), ("k", "l")]) == ["x", "q", "x", "q", "k"]


def test_sources_are_read_and_named(tmp_path):
    for name, label in (("mnli_dev.tsv", "entailment"), ("snli_dev.tsv.xz", "neutral")):
        rows = "".join(f"{name} {n}\th{n} {name}\t{('contradiction', label)[n % 2]}\n" for n in range(40))
        rows += f"last {name}\tlast hypothesis {name}\t{'neutral' if label == 'entailment' else 'entailment'}\n"
        pack(tmp_path / name, f"premise\thypothesis\tlabel\n{rows}")
    split = read_entailment([tmp_path / "mnli_dev.tsv", tmp_path / "snli_dev.tsv.xz"], seed=0)
    assert set(split.train.sources) == {"mnli", "snli"}
    for text, source in zip(split.test.pairs.first, split.test.sources, strict=True):
        assert source in text
    assert source_name("a/b_c/sick.tsv.xz?split=train") == "sick"


def test_what_cannot_be_split_is_refused():
    pairs = Pairs(("a", "b"), ("c", "d"), (0, 1), NAMES)
    with pytest.raises(
        TrainingError, match=r"all sides .* must have pairs; 2 components .* gave train .*Give more pairs"
    ):
        split_entailment(pairs, ("one", "one"), 0)
    with pytest.raises(TrainingError, match="a source of each pair; got 2 pairs and 1 sources"):
        split_entailment(pairs, ("one",), 0)
    with pytest.raises(TrainingError, match="got single texts"):
        split_entailment(replace(pairs, second=None), ("one", "one"), 0)
    with pytest.raises(TrainingError, match="at least one source; none was named"):
        read_entailment([], 0)
    with pytest.raises(TrainingError, match=r"above 0 and sum to less than 1; got 0.5 and 0.5"):
        Shares(0.5, 0.5)
    with pytest.raises(TrainingError, match="above 0 and at most 1; got 0"):
        near_duplicates([], [], Fraction(0))


@needs_data
@pytest.mark.slow
def test_the_development_sets_are_split_without_loss():
    split = read_entailment([DATA / "nli" / f"{name}.tsv.xz" for name in ("mnli_dev_matched", "snli_dev")], seed=0)
    check_split(split)
    assert (split.components, split.largest) == (6451, 45)
    assert split.dropped.total == 0
    assert len(split.train) + len(split.validation) + len(split.test) == 19657
    assert len(split.test) > 3700
