"""Baselines find what they can know, and no more; they are tuned on validation pairs and never read test labels."""

from dataclasses import replace

import numpy as np
import pytest

from anyformer.errors import TrainingError
from anyformer.training.comparison.baselines import (
    BASELINES,
    Baseline,
    hypothesis_words,
    overlap,
    pair_words,
    predict,
)
from anyformer.training.data.pairs import Pairs

NAMES = ("contradiction", "entailment", "neutral")
WORDS = [f"word{n}" for n in range(12)]
OF = {baseline.name: baseline for baseline in BASELINES}


def drawn(generator, count, label_of):
    """Pairs of random words with the labels of a rule."""
    first = tuple(" ".join(generator.choice(WORDS, 5)) for _ in range(count))
    second = tuple(" ".join(generator.choice(WORDS, 3)) for _ in range(count))
    return Pairs(first, second, tuple(map(label_of, first, second)), NAMES)


def accuracy(name, label_of, seed=0):
    generator = np.random.default_rng(seed)
    parts = [drawn(generator, count, label_of) for count in (300, 70, 110)]
    said = predict(OF[name], *parts)
    assert (len(said.validation), len(said.test)) == (70, 110)
    assert all(type(label) is int for label in (*said.validation, *said.test))
    return np.mean(np.array(said.test) == parts[2].labels)


def by_hypothesis(first, second):
    return 0 if "word1" in second.split() else 2


def by_premise(first, second):
    return 0 if "word1" in first.split() else 2


def by_shared_word(first, second):
    return 1 if "word1" in first.split() and "word1" in second.split() else 2


def by_overlap(first, second):
    return 1 if len(set(first.split()) & set(second.split())) > 1 else 2


def always(rule):
    """How often the most frequent class is right."""
    labels = drawn(np.random.default_rng(9), 5000, rule).labels
    return max(labels.count(label) for label in range(3)) / 5000


# Five standard deviations of the accuracy on 110 pairs, at most √(1/4 / 110) each.
SLACK = 5 * 0.5 / 110**0.5


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("hypothesis words", by_hypothesis),
        ("pair words", by_hypothesis),
        ("pair words", by_premise),
        ("pair words", by_shared_word),
        ("overlap", by_overlap),
    ],
)
def test_what_a_baseline_can_know_it_finds(name, rule):
    assert accuracy(name, rule) >= 0.97 > always(rule)


@pytest.mark.parametrize(("name", "rule"), [("hypothesis words", by_premise), ("overlap", by_premise)])
def test_what_a_baseline_cannot_know_it_does_not_find(name, rule):
    assert accuracy(name, rule) <= always(rule) + SLACK < 0.97


def test_the_majority_is_that_of_training():
    train = Pairs(("a",) * 5, ("b",) * 5, (2, 0, 0, 2, 2), NAMES)
    other = Pairs(("c",) * 4, ("d",) * 4, (0, 0, 0, 1), NAMES)
    said = predict(OF["majority"], train, other, other)
    assert (said.validation, said.test, said.setting) == ((2,) * 4, (2,) * 4, 0.0)


def parts_of(rule=by_overlap):
    generator = np.random.default_rng(1)
    return tuple(drawn(generator, count, rule) for count in (60, 20, 30))


def test_test_labels_are_not_read_and_predictions_are_deterministic():
    train, validation, test = parts_of()
    other = replace(test, labels=tuple((label + 1) % 3 for label in test.labels))
    said = [predict(baseline, train, validation, test) for baseline in BASELINES]
    assert [one.name for one in said] == ["majority", "hypothesis words", "pair words", "overlap"]
    assert said == [predict(baseline, train, validation, other) for baseline in BASELINES]


class Always:
    """Says what it is set to."""

    def __init__(self, setting):
        self.setting = int(setting)

    def fit(self, features, labels):
        return self

    def predict(self, features):
        return np.full(len(features), self.setting)


def test_settings_are_chosen_on_validation_pairs():
    baseline = Baseline("b", lambda train: lambda pairs: np.zeros((len(pairs), 1)), Always, (0, 1, 2))
    train, test = (Pairs(("a",) * 9, ("b",) * 9, labels, NAMES) for labels in ((0,) * 8 + (1,), (2,) * 9))
    validation = Pairs(("a",) * 5, ("b",) * 5, (0, 1, 1, 1, 2), NAMES)
    said = predict(baseline, train, validation, test)
    assert (said.setting, said.validation, said.test) == (1, (1,) * 5, (1,) * 9)
    tied = replace(validation, labels=(0, 0, 1, 1, 2))
    assert predict(baseline, train, tied, test).setting == 0


def test_words_say_where_they_stand():
    premise, hypothesis = "The dog, asleep", "A DOG barks"
    assert list(hypothesis_words(premise, hypothesis)) == ["h:a", "h:dog", "h:barks", "h:a dog", "h:dog barks"]
    assert list(pair_words(premise, hypothesis))[5:] == [
        *("p:the", "p:dog", "p:asleep", "both:dog"),
        *("hypothesis alone:a", "hypothesis alone:barks", "premise alone:asleep", "premise alone:the"),
    ]


def test_overlap_counts_what_it_says():
    found = overlap("Nobody saw the big dog run away", "The big dog is not here, the dog")
    # Hypothesis: the big dog is not here the dog; six different words, of which three are shared.
    assert found == pytest.approx((3 / 6, 2 / 7, 3 / 7, 3 / 8, 7, 8, np.log(9 / 8), 3, 1, 1, 0))
    assert overlap("Dogs don't run", "")[:6] == (0, 0, 0, 0, 4, 0)
    assert overlap("", "It isn't so")[-3:] == (0, 1, 1)


def test_pairs_that_do_not_fit_are_refused():
    train, validation, test = parts_of()
    with pytest.raises(TrainingError, match=r"validation must be pairs .* got single texts. Split one set"):
        predict(OF["majority"], train, replace(validation, second=None), test)
    with pytest.raises(TrainingError, match=r"test must be pairs with the labels contradiction, .* got labels x, y, z"):
        predict(OF["majority"], train, validation, replace(test, names=("x", "y", "z")))
    with pytest.raises(TrainingError, match="two classes or more; all are of one"):
        predict(OF["majority"], replace(train, labels=(1,) * 60), validation, test)
    lonely = Pairs(("a", "b"), ("c", "d"), (0, 1), NAMES)
    with pytest.raises(TrainingError, match="2 or more training pairs must share a word; none do, of 2"):
        predict(OF["hypothesis words"], lonely, validation, test)
