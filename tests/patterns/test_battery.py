"""The public battery catches planted faults and lets honest patterns pass."""

import numpy as np
import pytest

from anyformer.patterns import PatternError, PatternFamily, Ring, SlidingWindow, check_pattern, from_edges, from_matrix
from tests.patterns.samples import random_pattern


class Built(PatternFamily):
    """A family out of a function, with or without a path."""

    def __init__(self, at, path=lambda tokens: None):
        self._at, self._path = at, path

    def at(self, tokens):
        return self._at(tokens)

    def path(self, tokens):
        return self._path(tokens)

    def __repr__(self):
        return "mine"


def tampered(tokens, **arrays):
    """A ring whose arrays were exchanged behind its back."""
    pattern = Ring().at(tokens)
    for name, change in arrays.items():
        array = getattr(pattern.layers[0][0], name).copy()
        object.__setattr__(pattern.layers[0][0], name, change(array))
    return pattern


def swapped(keys):
    keys[:2] = keys[:2][::-1].copy()
    return keys


def doubled(keys):
    keys[1:2] = keys[:1]
    return keys


random = np.random.default_rng(0)

FAULTS = [
    ("random", Built(lambda n: random_pattern(random, n, 1)), "must be the same by a second call"),
    ("length", Built(lambda n: Ring().at(n + 1)), "must be a SparsityPattern of 1 tokens"),
    ("type", Built(lambda n: np.eye(n)), "must be a SparsityPattern of 1 tokens"),
    (
        "fails at 7",
        Built(lambda n: Ring().at(n) if n != 7 else 1 // 0),
        "mine at 7 tokens must be built; it raised Zero",
    ),
    ("unsorted", Built(lambda n: tampered(n, indices=swapped)), "that rise, each once"),
    ("repeated", Built(lambda n: tampered(n, indices=doubled)), "that rise, each once"),
    ("out of range", Built(lambda n: tampered(n, indices=lambda keys: keys + n)), "query 0 tokens 0 to 0"),
    ("negative", Built(lambda n: tampered(n, indices=lambda keys: keys - 1)), "query 0 tokens 0 to 0"),
    ("indptr", Built(lambda n: tampered(n, indptr=lambda pointers: pointers + 1)), "indptr that rises"),
    ("dtype", Built(lambda n: tampered(n, indices=lambda keys: keys.astype(np.int32))), "must hold int64"),
    ("path: no arc", Built(lambda n: SlidingWindow().at(n), lambda n: np.roll(np.arange(n), 1)), "must have a path"),
    ("path: too short", Built(lambda n: Ring().at(n), lambda n: np.arange(n - 1)), "must have a path"),
    ("path: repeats", Built(lambda n: Ring().at(n), lambda n: np.zeros(n, dtype=int)), "must have a path"),
]


@pytest.mark.parametrize(("family", "message"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_planted_faults_are_caught(family, message):
    with pytest.raises(PatternError, match=message):
        check_pattern(family)


def test_a_wrong_export_is_caught(monkeypatch):
    from anyformer.patterns import battery

    monkeypatch.setattr(battery, "to_edges", lambda pattern, layer, head: np.zeros((0, 2), dtype=np.int64))
    with pytest.raises(PatternError, match="must be the same as edges, CSR and matrix"):
        check_pattern(Ring())


def test_a_notation_that_means_something_else_is_caught(monkeypatch):
    from anyformer.patterns import battery

    monkeypatch.setattr(battery, "in_short", lambda pattern: "star")
    with pytest.raises(PatternError, match=r"Ring\(\) must be the same by its notation star; got Star\(\)"):
        check_pattern(Ring())


def test_a_pattern_of_one_length_can_be_checked_too():
    check_pattern(from_edges([(0, 1)], tokens=3))
    check_pattern(from_matrix(np.zeros((2, 3, 5, 5), dtype=bool)))
    with pytest.raises(PatternError, match="that rise, each once"):
        check_pattern(tampered(5, indices=swapped))


def test_honest_families_pass():
    check_pattern(Built(lambda n: Ring().at(n), lambda n: np.arange(n)))
    check_pattern(Built(lambda n: from_edges([], n)), lengths=[1, 2, 50])
