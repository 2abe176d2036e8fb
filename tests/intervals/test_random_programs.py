"""Random programs hold what they enclose; the same machinery finds planted faults."""

from collections import Counter

import numpy as np
import pytest

from anyformer.intervals import arrays, memory, movement, ufuncs, undefined
from anyformer.intervals.ends import Ends
from tests.intervals.random_programs import Kind, check_program

COUNT = 500


def test_no_program_is_missed():
    outcomes = [check_program(seed) for seed in range(COUNT)]
    assert not [(seed, o.reason) for seed, o in enumerate(outcomes) if o.kind is Kind.MISSED]
    counts = Counter(outcome.kind for outcome in outcomes)
    assert counts[Kind.REFUSED] < 0.4 * COUNT
    assert counts[Kind.HELD] > 0.5 * COUNT


def missed(seeds=300):
    return any(check_program(seed).kind is Kind.MISSED for seed in range(seeds))


FAULTS = {
    "memory that is never uncertain": (memory.Memory, "write", lambda self: None),
    "copies that are views": (movement, "copied", lambda a, order="C": movement.moved(lambda x: x[...], a)),
    "boxes that are never suspect": (undefined, "current", lambda: None),
    "numbers that are arrays": (ufuncs, "number", lambda result: result),
    "refusals that are forgotten": (arrays, "record", lambda error: None),
    "subtraction of like ends": (
        ufuncs.ELEMENTWISE,
        np.subtract,
        lambda a, b: Ends(np.minimum(a.low - b.low, a.high - b.high), np.maximum(a.low - b.low, a.high - b.high)),
    ),
}


@pytest.mark.parametrize("name", ["memory that is never uncertain", "boxes that are never suspect"])
def test_planted_faults_are_found(monkeypatch, name):
    monkeypatch.setattr(*FAULTS[name])
    assert missed()


def test_a_wrong_rule_is_found(monkeypatch):
    monkeypatch.setitem(*FAULTS["subtraction of like ends"])
    assert missed()
