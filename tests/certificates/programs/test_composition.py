"""Composed polylines, compared with exact arithmetic."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.certificates.programs import composition
from anyformer.certificates.programs.composition import Polyline, composed, steepness_of
from anyformer.certificates.programs.polylines import ReluSum
from anyformer.errors import NotShown


def random_line(rng, count, scale=1.0):
    """Units of both signs with kinks around [−1, 2]; some kinks coincide."""
    kinks = np.round(rng.uniform(-1, 2, count), int(rng.integers(1, 17)))
    signs = rng.choice([-1.0, 1.0], count)
    weights = rng.normal(size=count) * scale * 10.0 ** rng.integers(-3, 4)
    return ReluSum(float(rng.normal()), float(rng.normal()), signs, -signs * kinks, weights)


def exact(line, u):
    """The sum of ReLUs in exact arithmetic."""
    total = Fraction(line.slope) * u + Fraction(line.constant)
    for sign, offset, weight in zip(line.signs, line.offsets, line.weights, strict=True):
        total += Fraction(weight) * max(Fraction(sign) * u + Fraction(offset), Fraction(0))
    return total


def straight_between(line, u):
    """A polyline in exact arithmetic, and its doubt."""
    k = min(max(int(np.searchsorted(line.at, float(u), side="right")) - 1, 0), len(line.at) - 2)
    a, b, y, z = (Fraction(float(v)) for v in (*line.at[k : k + 2], *line.heights[k : k + 2]))
    return y + (u - a) / (b - a) * (z - y)


def points_of(rng, *lines):
    """Points of the lines, near them, and anywhere."""
    at = np.concatenate([line.at for line in lines])
    near = np.concatenate([at, np.nextafter(at, -1), np.nextafter(at, 2), rng.uniform(0, 1, 20)])
    return [Fraction(float(u)) for u in near[(near >= 0) & (near <= 1)]]


@given(st.integers(0, 2**32), st.integers(0, 6), st.integers(0, 6))
def test_compositions_are_within_their_doubts(seed, inner_count, outer_count):
    rng = np.random.default_rng(seed)
    inner_line, outer = random_line(rng, inner_count), random_line(rng, outer_count)
    inner = Polyline.of(inner_line, 0.0, 1.0)
    whole = composed(outer, inner)
    for u in points_of(rng, inner, whole):
        assert abs(straight_between(inner, u) - exact(inner_line, u)) <= Fraction(inner.doubt)
        assert abs(straight_between(whole, u) - exact(outer, exact(inner_line, u))) <= Fraction(whole.doubt)
    # As good as float64 allows, not only true.
    size = 1 + steepness_of(outer) * (1 + inner.steepness) + np.abs(outer.weights).sum() * (3 + inner.top) + whole.top
    assert whole.doubt <= 2.0**-40 * size * (1 + np.abs(inner_line.weights).sum())


@given(st.integers(0, 2**32))
def test_what_an_inner_line_is_off_by_is_passed_on(seed):
    rng = np.random.default_rng(seed)
    outer = random_line(rng, 5)
    inner = Polyline.of(random_line(rng, 5), 0.0, 1.0)
    off = float(10.0 ** rng.integers(-12, -1))
    unsure = composed(outer, Polyline(inner.at, inner.heights, inner.doubt + off))
    for u in points_of(rng, inner, unsure):
        for moved in (off, -off):
            held = straight_between(inner, u) + Fraction(moved)
            assert abs(straight_between(unsure, u) - exact(outer, held)) <= Fraction(unsure.doubt)


@given(st.integers(0, 2**32))
def test_sums_and_multiples(seed):
    rng = np.random.default_rng(seed)
    lines = [random_line(rng, 4), random_line(rng, 3)]
    first, second = (Polyline.of(line, 0.0, 1.0) for line in lines)
    factor = float(rng.normal())
    both = first + second.scaled(factor)
    for u in points_of(rng, both):
        wanted = exact(lines[0], u) + Fraction(factor) * exact(lines[1], u)
        assert abs(straight_between(both, u) - wanted) <= Fraction(both.doubt)


@given(st.integers(0, 2**32))
def test_no_slope_is_steeper_than_the_steepness(seed):
    rng = np.random.default_rng(seed)
    line = random_line(rng, 6)
    # Beyond the outermost kinks too, wherever these are.
    ends = float(line.kinks.min()) - 1, float(line.kinks.max()) + 1
    points = sorted(Fraction(float(u)) for u in {*ends, *line.kinks, *rng.uniform(-1, 2, 9)})
    steepest = max(abs((exact(line, b) - exact(line, a)) / (b - a)) for a, b in pairwise(points))
    found = Fraction(steepness_of(line))
    assert steepest <= found
    # Where two kinks are at one place, the slope between them is counted, though no point has it.
    if len(set(line.kinks.tolist())) == len(line.kinks):
        sizes = 1 + abs(Fraction(line.slope)) + sum(abs(Fraction(float(w))) for w in line.weights)
        assert found <= steepest + Fraction(2.0**-40) * sizes


def test_what_is_no_polyline_is_refused(monkeypatch):
    with pytest.raises(NotShown, match="points from left to right"):
        Polyline(np.array([0.0, 0.0]), np.zeros(2), 0.0)
    for heights, doubt in (([0.0, np.nan], 0.0), ([0.0, np.inf], 0.0), ([0.0, 1.0], np.nan)):
        with pytest.raises(NotShown, match="all numbers are finite"):
            Polyline(np.array([0.0, 1.0]), np.array(heights), doubt)
    wave = Polyline(np.linspace(0, 1, 101), np.arange(101) % 2 * 1.0, 0.0)
    with pytest.raises(NotShown, match="read where it is known"):
        wave.values(np.array([1.5]))
    teeth = ReluSum(0.0, 0.0, np.ones(99), -np.arange(1, 100) / 100, np.ones(99))
    assert len(composed(teeth, wave).at) == 100 * 99 + 101
    monkeypatch.setattr(composition, "MOST_POINTS", 10_000)
    with pytest.raises(NotShown, match="at most 10,000 points"):
        composed(teeth, wave)
