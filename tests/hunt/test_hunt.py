"""A short hunt: a few cases of every family, and no false verdict, crash, hang or hunger for memory among them.

`make hunt` goes on for an hour.
"""

import pytest

from tests.hunt.families import FAMILIES
from tests.hunt.hunting import hunt

CASES = 16
# Those that are quick or many-sided, and those that are slow.
OTHERS = {
    "sleeping-beside-extreme": 24,
    "last-stage": 24,
    "powers": 40,
    "programs": 80,
    "tiny-scales": 48,
    "plain-means": 32,
    "silent-heads": 32,
    "parallel-units": 24,
    "altered-certificates": 36,
    "mutated-models": 10,
    "ordinary-networks": 10,
    "subnormals": 6,
    "greedy": 6,
}
# Of families that take more than a second.
SLOW = ("one-at-a-time", "sleeping-beside-extreme", "greedy", "altered-certificates", "mutated-models", "walls")
# Honest cases are among these: a checker that turns everything down would pass every other test.
PROVING = (
    "ordinary-networks",
    "spikes",
    "altered-certificates",
    "mutated-models",
    "compact-support",
    "near-ties",
    "walls",
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in FAMILIES]
)
def test_nothing_is_caught(name):
    cases = OTHERS.get(name, CASES)
    count = hunt(name, range(cases))
    shown = "\n".join(
        f"--only {f['family']} --seed {f['seed']}: {f['ruling']}: {f['case']}\n  {f['reason']}"
        for f in count.faults[:3]
    )
    assert count.fault_count == 0, f"{count.rulings}\n{shown}"
    assert count.tried == cases
    if name in PROVING:
        assert count.rulings["proved"] > 0
