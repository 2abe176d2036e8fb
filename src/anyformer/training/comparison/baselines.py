"""Simple baselines beside the models: the majority class, and classifiers that see little or nothing of word order.

Each is fitted on the training pairs; its one setting is the one that is most often right on the validation pairs. The
predictions for the test pairs are given pair by pair, so that they can be compared with the models' in pairs. All are
deterministic.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.errors import TrainingError
from anyformer.extras import require
from anyformer.training.comparison.entailment import folded
from anyformer.training.data.pairs import Pairs

_STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""C of logistic regressions, the inverse of their regularization: from far too strong to far too weak."""
_TREES = (6, 12, 25, 50, 100)
_RARE = 2
"""A word of one training pair alone tells nothing of others."""
_NEGATIONS = frozenset(
    {"no", "not", "nobody", "nothing", "none", "never", "nor", "neither", "without", "cannot"}
    | {"t"}  # what folding leaves of n't
)

Features = Callable[[Pairs], Any]
"""The matrix of features of pairs."""


@dataclass(frozen=True)
class Baseline:
    """Features and the classifier on them."""

    name: str
    features: Callable[[Pairs], Features]
    """Makes the features from the training pairs."""
    classifier: Callable[[float], Any]
    """A scikit-learn classifier from its setting."""
    settings: tuple[float, ...] = (0.0,)
    """From the simplest classifier on: of equally good ones the first is taken."""


@dataclass(frozen=True)
class Predicted:
    """What a baseline says of each pair."""

    name: str
    setting: float
    """The one chosen on the validation pairs; 0 where there is nothing to choose."""
    validation: tuple[int, ...]
    """Predicted labels, places in the names of the pairs."""
    test: tuple[int, ...]


def predict(baseline: Baseline, train: Pairs, validation: Pairs, test: Pairs) -> Predicted:
    """Fit on training pairs, choose the setting on validation pairs, predict the test pairs. Their labels are not read.

    Returns:
        The predictions of both.
    """
    for name, pairs in (("training", train), ("validation", validation), ("test", test)):
        if pairs.second is None or pairs.names != train.names:
            got = "single texts" if pairs.second is None else f"labels {', '.join(pairs.names)}"
            raise TrainingError(
                f"{name} must be pairs with the labels {', '.join(train.names)}; got {got}. Split one set of pairs."
            )
    if len(set(train.labels)) < 2:
        raise TrainingError("training pairs must be of two classes or more; all are of one. Give more pairs.")
    features = baseline.features(train)
    known, chosen, unseen = features(train), features(validation), features(test)
    best: tuple[int, float, Any, tuple[int, ...]] | None = None
    for setting in baseline.settings:
        fitted = baseline.classifier(setting).fit(known, train.labels)
        said = tuple(int(label) for label in fitted.predict(chosen))
        right = sum(one == label for one, label in zip(said, validation.labels, strict=True))
        if best is None or right > best[0]:
            best = right, setting, fitted, said
    assert best is not None
    _, setting, fitted, said = best
    return Predicted(baseline.name, setting, said, tuple(int(label) for label in fitted.predict(unseen)))


def hypothesis_words(premise: str, hypothesis: str) -> Iterator[str]:
    """Words of the hypothesis, and two that follow each other.

    >>> list(hypothesis_words("A dog runs.", "A dog sleeps."))
    ['h:a', 'h:dog', 'h:sleeps', 'h:a dog', 'h:dog sleeps']
    """
    words = folded(hypothesis).split()
    yield from (f"h:{word}" for word in words)
    yield from (f"h:{' '.join(two)}" for two in pairwise(words))


def pair_words(premise: str, hypothesis: str) -> Iterator[str]:
    """Also the premise's words, and which words are in both, in the hypothesis alone, and in the premise alone.

    >>> [word for word in pair_words("A dog runs.", "A dog sleeps.") if "runs" in word or word.endswith("sleeps")]
    ['h:sleeps', 'h:dog sleeps', 'p:runs', 'hypothesis alone:sleeps', 'premise alone:runs']
    """
    yield from hypothesis_words(premise, hypothesis)
    first, second = folded(premise).split(), folded(hypothesis).split()
    yield from (f"p:{word}" for word in first)
    for where, words in (
        ("both", set(first) & set(second)),
        ("hypothesis alone", set(second) - set(first)),
        ("premise alone", set(first) - set(second)),
    ):
        yield from (f"{where}:{word}" for word in sorted(words))


def overlap(premise: str, hypothesis: str) -> tuple[float, ...]:
    """How much the two share, how long they are, and how often they negate; no word itself.

    In order: shares of the hypothesis' words and of its neighbouring words that the premise has; share of the premise's
    words that the hypothesis has; the longest common run of words, as a share of the hypothesis; words in the premise
    and in the hypothesis, the logarithm of their ratio, words in the hypothesis alone; negations in the premise and in
    the hypothesis, and how many more the hypothesis has.
    """
    first, second = folded(premise).split(), folded(hypothesis).split()
    twos = [set(pairwise(words)) for words in (first, second)]
    words, others = set(first), set(second)
    negations = [sum(word in _NEGATIONS for word in text) for text in (first, second)]
    return (
        _share(len(words & others), len(others)),
        _share(len(twos[0] & twos[1]), len(twos[1])),
        _share(len(words & others), len(words)),
        _share(_longest_run(first, second), len(second)),
        float(len(first)),
        float(len(second)),
        math.log((len(second) + 1) / (len(first) + 1)),
        float(len(others - words)),
        float(negations[0]),
        float(negations[1]),
        float(negations[1] - negations[0]),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _longest_run(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest run of words that both texts have."""
    longest, above = 0, [0] * (len(second) + 1)
    for word in first:
        row = [0] * (len(second) + 1)
        for place, other in enumerate(second):
            if word == other:
                row[place + 1] = above[place] + 1
                longest = max(longest, row[place + 1])
        above = row
    return longest


def _nothing(train: Pairs) -> Features:
    return lambda pairs: np.zeros((len(pairs), 1))


def _bag(words: Callable[[str, str], Iterator[str]]) -> Callable[[Pairs], Features]:
    """Which words are there, of those that training knows."""

    def features(train: Pairs) -> Features:
        text = require("sklearn.feature_extraction.text", extra="train", what="baselines")
        counter = text.CountVectorizer(analyzer=lambda pair: words(*pair), binary=True, min_df=_RARE)
        try:
            counter.fit(_texts(train))
        except ValueError as error:
            raise TrainingError(
                f"{_RARE} or more training pairs must share a word; none do, of {len(train)}. Give more pairs."
            ) from error
        return lambda pairs: counter.transform(_texts(pairs)).astype(np.float64)

    return features


def _overlaps(train: Pairs) -> Features:
    def features(pairs: Pairs) -> NDArray[np.float64]:
        return np.array([overlap(*pair) for pair in _texts(pairs)])

    return features


def _texts(pairs: Pairs) -> list[tuple[str, str]]:
    return list(zip(pairs.first, pairs.second or (), strict=True))


def _most_frequent(_: float) -> Any:
    return require("sklearn.dummy", extra="train", what="baselines").DummyClassifier(strategy="most_frequent")


def _logistic(strength: float) -> Any:
    linear = require("sklearn.linear_model", extra="train", what="baselines")
    return linear.LogisticRegression(C=strength, max_iter=10_000)


def _boosted(trees: float) -> Any:
    # Without early stopping nothing of it is random: all pairs are used, and as many trees as said.
    ensemble = require("sklearn.ensemble", extra="train", what="baselines")
    return ensemble.HistGradientBoostingClassifier(
        max_iter=int(trees), learning_rate=0.1, max_leaf_nodes=15, early_stopping=False, random_state=0
    )


BASELINES = (
    Baseline("majority", _nothing, _most_frequent),
    Baseline("hypothesis words", _bag(hypothesis_words), _logistic, _STRENGTHS),
    Baseline("pair words", _bag(pair_words), _logistic, _STRENGTHS),
    Baseline("overlap", _overlaps, _boosted, _TREES),
)
"""From the least that is known to the most."""
