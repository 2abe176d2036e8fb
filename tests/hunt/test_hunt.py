"""A short hunt: a few cases of every family, and no false verdict, crash, hang or hunger for memory among them.

`make hunt` goes on for an hour.
"""

import pytest

from tests.hunt.families import FAMILIES
from tests.hunt.hunting import hunt

CASES = 20
# Those that are quick, or many-sided.
MORE = {
    "sleeping-beside-extreme": 40,
    "last-stage": 40,
    "powers": 60,
    "programs": 120,
    "tiny-scales": 60,
    "plain-means": 40,
    "silent-heads": 40,
}
FEWER = {"any-networks": 16, "running": 16, "subnormals": 12, "near-ties": 16, "greedy": 6}
# Honest cases are among these: a checker that turns everything down would pass every other test.
PROVING = ("ordinary-networks", "spikes", "altered-certificates", "mutated-models", "compact-support", "near-ties")


@pytest.mark.parametrize("name", FAMILIES)
def test_nothing_is_caught(name):
    cases = (MORE | FEWER).get(name, CASES)
    count = hunt(name, range(cases))
    shown = "\n".join(
        f"--only {f['family']} --seed {f['seed']}: {f['ruling']}: {f['case']}\n  {f['reason']}"
        for f in count.faults[:3]
    )
    assert count.fault_count == 0, f"{count.rulings}\n{shown}"
    assert count.tried == cases
    if name in PROVING:
        assert count.rulings["proved"] > 0
