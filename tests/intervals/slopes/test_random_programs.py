"""Random programs, with views and writes, have slopes that hold, or none."""

import warnings

import numpy as np
import pytest

from anyformer.intervals import IntervalError
from anyformer.intervals.memory import Memory
from anyformer.intervals.slopes import table
from tests.intervals.random_programs import TOKENS, WIDTH, generate
from tests.intervals.slopes.agreement import disagreement, known_share

FEW, MANY = 24, 400


def outcome(seed: int) -> str | bool | None:
    """What disagrees, or whether slopes are known on some box; None for a program that is refused."""
    rng = np.random.default_rng([seed, 2])
    program = generate(seed)
    low = rng.uniform(-1.2, 1.2, (program.batch or 1, TOKENS, WIDTH))
    high = low + 0.05 * rng.random(low.shape)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return disagreement(program, low, high, rng) or known_share(program, low, high) > 0
    except IntervalError:
        return None


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_slopes_hold(count):
    outcomes = [outcome(seed) for seed in range(count)]
    assert not [(seed, found) for seed, found in enumerate(outcomes) if isinstance(found, str)]
    assert outcomes.count(True) > 0.15 * count


def found(seeds: int = 600) -> bool:
    return any(isinstance(outcome(seed), str) for seed in range(seeds))


def test_writes_that_are_overlooked_are_found(monkeypatch):
    def write(self: Memory) -> None:
        for other in self._kin or ():
            other.is_uncertain |= other is not self

    monkeypatch.setattr(Memory, "write", write)
    assert found()


def test_a_wrong_rule_is_found(monkeypatch):
    monkeypatch.setitem(table.ELEMENTWISE, np.subtract, table.ELEMENTWISE[np.add])
    assert found()
