"""Random programs hold what they enclose; the same machinery finds planted faults."""

from collections import Counter

import numpy as np
import pytest

from anyformer.intervals import conditions, memory, supported, ufuncs
from anyformer.intervals.ends import Ends
from anyformer.intervals.rules import arguments, undefined
from anyformer.intervals.rules.elementwise import choices
from anyformer.intervals.runs import Run
from tests.intervals.random_programs import Kind, check_program

COUNT = 500


def test_no_program_is_missed():
    outcomes = [check_program(seed) for seed in range(COUNT)]
    assert not [(seed, o.reason) for seed, o in enumerate(outcomes) if o.kind is Kind.MISSED]
    counts = Counter(outcome.kind for outcome in outcomes)
    assert counts[Kind.REFUSED] < 0.4 * COUNT
    assert counts[Kind.HELD] > 0.5 * COUNT


def missed(seeds=2000):
    return any(check_program(seed).kind is Kind.MISSED for seed in range(seeds))


def like_ends(a, b):
    """A difference that takes its arguments for dependent on each other."""
    ends = a.low - b.low, a.high - b.high
    return Ends(np.minimum(*ends), np.maximum(*ends))


@pytest.mark.parametrize(
    ("place", "name", "fault"),
    [
        (memory.Memory, "write", lambda self: None),
        (undefined, "current", lambda: None),
        (conditions, "refuse_other_types", lambda name, operands: None),
    ],
    ids=["memory that is never uncertain", "boxes that are never suspect", "other types"],
)
def test_planted_faults_are_found(monkeypatch, place, name, fault):
    monkeypatch.setattr(place, name, fault)
    for module in (arguments, choices, ufuncs):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, fault)
    assert missed()


def test_a_wrong_rule_is_found(monkeypatch):
    monkeypatch.setitem(supported.ELEMENTWISE, np.subtract, like_ends)
    assert missed()


def test_forgotten_refusals_are_found(monkeypatch):
    monkeypatch.setattr(Run, "faults", property(lambda self: [], lambda self, value: None), raising=False)
    assert missed()
