"""Bounds of ∫|a + Σ bᵢyᵢ|^p hold what quadrature finds, and are close to it; with faults they do not."""

import itertools

import numpy as np
import pytest

from anyformer.certificates.bounds import affine_norms
from anyformer.certificates.bounds.affine_norms import Affine

BOXES = 60
# Gauss-Legendre points on each of so many parts of every side: |·|^p has kinks.
POINTS, PARTS = 4, 12


def drawn(inputs: int, seed: int, doubt: float = 0.0) -> Affine:
    """Boxes of all kinds: constants, slopes along few inputs, changes of sign, sides of different lengths."""
    rng = np.random.default_rng([inputs, seed])
    low = rng.normal(size=BOXES) * rng.choice([0.0, 0.05, 1.0, 3.0], BOXES)
    slope = rng.normal(size=(inputs, BOXES)) * rng.choice([0.0, 1e-3, 1.0], (inputs, BOXES))
    half = rng.uniform(0.1, 2.0, (inputs, BOXES))
    high, slope_high = low + doubt * rng.random(BOXES), slope + doubt * rng.random(slope.shape)
    return Affine(low, high, slope, slope_high, half, np.zeros_like(half))


def mean_power(a, b, half, p) -> float:
    """By quadrature on every part of every side."""
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    starts = np.arange(PARTS) * 2 / PARTS - 1
    at = (starts[:, None] + (nodes + 1) / PARTS).ravel()
    weight = np.tile(weights / (2 * PARTS), PARTS)
    grids = np.meshgrid(*(side * at for side in half), indexing="ij")
    weight = np.prod(np.meshgrid(*(weight for _ in half), indexing="ij"), axis=0)
    return float((weight * np.abs(a + sum(b[i] * grids[i] for i in range(len(b)))) ** p).sum())


# Where |X|^p has a kink in a part, quadrature is off by less than this share of the largest power.
QUADRATURE = 2e-3


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 2.7, 3.5, 4.0, 7.0])
@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_bounds_hold_what_quadrature_finds(inputs, p):
    affine = drawn(inputs, seed=1)
    upper, lower = affine.powers(p)
    for k in range(BOXES):
        slopes = affine.slope_low[:, k]
        exact = mean_power(affine.low[k], slopes, affine.half[:, k], p)
        error = QUADRATURE * (np.abs(affine.low[k]) + np.abs(slopes) @ affine.half[:, k]) ** p
        assert lower[k] - error <= exact <= upper[k] + error


@pytest.mark.parametrize(("p", "share"), [(1.0, 1.1), (2.0, 1 + 1e-6), (3.5, 1.03), (4.0, 1 + 1e-6)])
def test_bounds_are_close(p, share):
    """As norms: exact for p = 2 and 4, within a few per cent between, within a tenth for p = 1."""
    affine = drawn(3, seed=2)
    upper, _ = affine.powers(p)
    for k in np.flatnonzero(affine.low != 0):
        exact = mean_power(affine.low[k], affine.slope_low[:, k], affine.half[:, k], p)
        assert upper[k] ** (1 / p) <= share * exact ** (1 / p) * (1 + QUADRATURE)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5])
def test_unknown_slopes_are_taken_at_their_worst(p):
    """Any function a + Σ bᵢ(y)yᵢ with a and b within their ends, b other ones for every y: here by the sign of all."""
    affine = drawn(2, seed=3, doubt=0.5)
    upper, lower = affine.powers(p)
    rng = np.random.default_rng(4)
    y = rng.uniform(-1, 1, (4000, 2, 1)) * affine.half
    ends = (affine.slope_low, affine.slope_high)
    for constant, (first, second) in itertools.product((affine.low, affine.high), itertools.product((0, 1), repeat=2)):
        slopes = np.where(y > 0, ends[first], ends[second])
        mean = (np.abs(constant + (slopes * y).sum(axis=1)) ** p).mean(axis=0)
        deviation = (np.abs(constant + (slopes * y).sum(axis=1)) ** p).std(axis=0) / np.sqrt(len(y))
        assert (mean <= upper + 5 * deviation).all()
        assert (mean >= lower - 5 * deviation).all()


def test_what_is_unknown_is_infinite():
    affine = drawn(2, seed=5)
    unknown = Affine(affine.low, affine.high, affine.slope_low - np.inf, affine.slope_high, affine.half, affine.off)
    upper, lower = unknown.powers(2.0)
    assert np.isinf(upper).all()
    assert not lower.any()


def test_a_centre_off_the_middle_counts():
    affine = drawn(2, seed=6)
    shifted = Affine(affine.low, affine.high, affine.slope_low, affine.slope_high, affine.half, affine.half / 8)
    away = np.array([1.0, -1.0])[:, None] * affine.half / 8
    moved = affine.low + (affine.slope_low * away).sum(axis=0)
    exact = [mean_power(moved[k], affine.slope_low[:, k], affine.half[:, k], 2.0) for k in range(BOXES)]
    assert (np.array(exact) <= shifted.powers(2.0)[0]).all()
    assert not (np.array(exact) <= affine.powers(2.0)[0]).all()


@pytest.mark.parametrize("size", [1e-290, 1e-180, 1e-120])
def test_tiny_numbers_do_not_underflow(size):
    one = np.full(1, size)
    for p in (1.0, 2.0, 3.5):
        upper, lower = Affine(one, one, one[None], one[None], np.ones((1, 1)), np.zeros((1, 1))).powers(p)
        assert upper[0] >= lower[0]
        assert upper[0] > 0
        assert lower[0] <= (2 * size) ** p


def test_planted_faults_are_found(monkeypatch):
    monkeypatch.setattr(affine_norms._Known, "_variance", lambda self: (self.reach**2).sum(axis=0) / 4)
    with pytest.raises(AssertionError):
        test_bounds_hold_what_quadrature_finds(2, 2.0)


def test_a_mean_without_the_largest_term_is_found(monkeypatch):
    monkeypatch.setattr(affine_norms._Known, "_mean_size", lambda self, b: b)
    with pytest.raises(AssertionError):
        test_bounds_hold_what_quadrature_finds(2, 1.0)


def test_a_rest_that_is_forgotten_is_found(monkeypatch):
    monkeypatch.setattr(affine_norms, "_rest_norm", lambda radius, reach, p: 0 * radius)
    with pytest.raises(AssertionError):
        test_unknown_slopes_are_taken_at_their_worst(2.0)
