"""np.interp on intervals: unknown values, many points, and the rounding of members that are no ends."""

import numpy as np
import pytest

from anyformer.intervals import IntervalArray
from tests.intervals.samples import members

LOW = -1 / 3


def far_and_near(rng):
    """Points of which one is near 0, and the number just below that one: the gap is lost beside the distance."""
    points = np.array([-rng.uniform(0.5, 1), rng.uniform(1e-6, 1e-3), rng.uniform(0.5, 1)])
    return points, np.nextafter(points[1:2], -np.inf)


def test_values_between_unknown_ones_are_rounded_too():
    """All low ends are alike, and all high ends; a member that falls from high to low is rounded to below low."""
    rng = np.random.default_rng(70)
    below = 0.0
    for _ in range(300):
        points, x = far_and_near(rng)
        values = rng.choice([LOW, 100.7], 3)
        result = np.interp(x, points, IntervalArray(np.full(3, LOW), np.full(3, 100.7)))
        computed = np.interp(x, points, values)
        below = max(below, LOW - computed.min())
        assert ((result.low <= computed) & (computed <= result.high)).all()
    assert below > 0  # the test can fail


def test_large_values_among_small_ones():
    """The error of a member goes by its own values, which may be larger than the ends that it is compared with."""
    rng = np.random.default_rng(71)
    low, high = np.full(3, LOW), np.full(3, 1e9 + 0.3)
    below = 0.0
    for _ in range(300):
        points, x = far_and_near(rng)
        values = np.where(rng.random(3) < 0.5, low, high)
        result = np.interp(x, points, IntervalArray(low, high))
        computed = np.interp(x, points, values)
        below = max(below, (LOW - computed).max())
        assert ((result.low <= computed) & (computed <= result.high)).all()
    assert below > 16 * 2.0**-52


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 100])
def test_as_tight_as_the_values(size):
    """The range is that of the points inside and of the ends, up to rounding."""
    rng = np.random.default_rng(size)
    points, values = np.cumsum(rng.uniform(0.1, 1, size)), rng.normal(size=size)
    low = rng.uniform(-1, points[-1] + 1, 200)
    high = low + rng.exponential(1.0, 200)
    result = np.interp(IntervalArray(low, high), points, values, left=-5.0, right=6.0)
    for a, b, least, greatest in zip(low, high, result.low, result.high, strict=True):
        inside = np.concatenate([[a, b], points[(points >= a) & (points <= b)]])
        reached = np.interp(inside, points, values, left=-5.0, right=6.0)
        error = 64 * 2.0**-52 * np.abs(values).max()
        # An end beyond the points reaches the outermost one only if the interval does, which is among `inside`.
        assert least <= reached.min() <= least + error or least == -5.0
        assert greatest - error <= reached.max() <= greatest or greatest == 6.0
        x = members(rng, np.array([a]), np.array([b]))
        assert least <= np.interp(x, points, values, left=-5.0, right=6.0) <= greatest


def test_known_values_are_exact_where_they_are_constant():
    result = np.interp(IntervalArray([-3.0, 0.2], [9.0, 0.3]), [0.0, 0.1, 1.0], [0.7, 0.7, 0.7])
    assert result.low.tolist() == result.high.tolist() == [0.7, 0.7]
