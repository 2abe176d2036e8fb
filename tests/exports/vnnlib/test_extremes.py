import numpy as np
import pytest

import anyformer as af
from anyformer.errors import ExportError
from anyformer.exports.vnnlib import extremes
from anyformer.exports.vnnlib.extremes import extreme
from anyformer.exports.vnnlib.properties import Sense

TARGETS = [
    af.targets.softmax(tokens=3),
    af.targets.attention(tokens=3, width=2),
    af.targets.sort(tokens=4),
    af.targets.power_sums(tokens=2, width=3),
    af.targets.mean_scale(tokens=40),
]

HILL = af.target(lambda x: x * (1 - x), tokens=3, name="hill")


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("target", TARGETS, ids=lambda one: one.name)
def test_no_sample_is_beyond_the_bound(target, sense):
    rng = np.random.default_rng(1)
    shape = (target.tokens, target.width)
    for side in (0.05, 0.4, 1.0):
        low = rng.random(shape) * (1 - side)
        high = low + side
        entry = (target.tokens - 1, target.width - 1)
        found = extreme(target, low, high, entry, sense, near=1e-3)
        shares = rng.random((4000, *shape))
        shares[:1000] = np.rint(shares[:1000])
        values = sense.sign * target(low + shares * side)[:, *entry]
        assert values.max() <= found.bound
        assert found.taken <= found.bound


def test_the_bound_is_near_where_cutting_helps():
    found = extreme(HILL, np.zeros((3, 1)), np.ones((3, 1)), (0, 0), Sense.AT_LEAST, near=1e-3)
    assert found.taken == 0.25 <= found.bound <= 0.25 + 1e-3


def test_one_box_is_not_enough(monkeypatch):
    """The cutting is what makes it near: a test that the test above can fail."""
    monkeypatch.setattr(extremes, "MOST_BOXES", 1)
    found = extreme(HILL, np.zeros((3, 1)), np.ones((3, 1)), (0, 0), Sense.AT_LEAST, near=1e-3)
    assert found.bound > 0.25 + 1e-3


def test_a_corner_that_all_slopes_point_to_is_looked_at():
    target = af.targets.softmax(tokens=3)
    found = extreme(target, np.zeros((3, 1)), np.ones((3, 1)), (0, 0), Sense.AT_LEAST, near=1e-3)
    assert found.taken == target(np.array([[1.0], [0.0], [0.0]]))[0, 0]


def test_a_target_of_which_nothing_is_known_is_refused():
    def odd(x):
        return x + np.sqrt(x - x)

    target = af.target(odd, tokens=2)
    with pytest.raises(ExportError, match="must be bounded"):
        extreme(target, np.zeros((2, 1)), np.ones((2, 1)), (0, 0), Sense.AT_LEAST, near=1e-3)


def test_a_target_that_cannot_run_on_intervals_is_refused():
    def loops(x):
        return x * float(x.sum())

    target = af.target(loops, tokens=2)
    with pytest.raises(ExportError, match="must run on intervals"):
        extreme(target, np.zeros((2, 1)), np.ones((2, 1)), (0, 0), Sense.AT_LEAST, near=1e-3)
