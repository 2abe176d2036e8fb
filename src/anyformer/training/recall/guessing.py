"""How far one gets without mixing: by guessing, and by rules that do not compare keys.

A query's key is the key of each pair with the same chance, whatever the places, the values and the other tokens are:
only a comparison of keys tells which. So who does not compare them is right with a chance of 1/pairs at most, and gets
that far by naming any value of the sequence. This is the line that counts; a pure guess is right with 1/values.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from anyformer.mixers.bert.language import IGNORED
from anyformer.training.recall.task import Layout
from anyformer.training.run.loop import Batch


def by_chance(layout: Layout) -> float:
    """Any value at all."""
    return 1 / layout.values


def without_matching(pairs: int) -> float:
    """How often any value of the sequence is right: the most that is possible by content without comparing keys."""
    return 1 / pairs


def best_rule(layout: Layout, batch: Batch) -> tuple[str, float]:
    """The best of all simple rules that compare no keys, and how often it is right; above 1/pairs, the sequences
    leak the answer.

    The rules: always the same value; always the same value for the same key; for the n-th query the value of the m-th
    pair; the value so many tokens before. The best one is chosen on the first half of the sequences, and its share of
    queries is measured on the others, so that choosing does not flatter it.
    """
    tokens, labels = batch["input_ids"].numpy(), batch["labels"].numpy()
    middle = len(tokens) // 2
    rules = dict(_rules(layout, tokens, labels, middle))
    right = {name: guesses == labels for name, guesses in rules.items()}
    asked = labels != IGNORED
    best = max(right, key=lambda name: right[name][:middle][asked[:middle]].sum())
    return best, float(right[best][middle:][asked[middle:]].mean())


def _rules(layout: Layout, tokens: np.ndarray, labels: np.ndarray, middle: int) -> Iterator[tuple[str, np.ndarray]]:
    """What each rule answers at every token; only the answers at queries are looked at."""
    learned, asked = labels[:middle], labels != IGNORED
    known = learned[asked[:middle]]
    yield "always the same value", np.full_like(labels, np.bincount(known).argmax())
    by_key = Counter(zip(tokens[:middle][asked[:middle]].tolist(), known.tolist(), strict=True))
    table = np.zeros(layout.vocabulary, dtype=labels.dtype)
    for (key, value), _ in reversed(by_key.most_common()):
        table[key] = value
    yield "always the same value for a key", table[tokens]
    values = tokens[tokens > layout.keys].reshape(len(tokens), -1)
    number = np.cumsum(asked, axis=1) - 1
    for shift in range(values.shape[1]):
        place = (number + shift) % values.shape[1]
        yield f"for query n the value of pair n + {shift}", np.take_along_axis(values, place, axis=1)
    for distance in range(1, layout.tokens):
        yield f"the value {distance} tokens before", np.roll(tokens, distance, axis=1)
