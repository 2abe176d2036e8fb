"""Intervals and members of them for the tests of this folder, special values first."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyformer.intervals import IntervalArray

SPECIAL = np.concatenate(
    [
        [0.0, -0.0, 5e-324, -5e-324, 1e-310, 2.0**-1022, -(2.0**-1022), 1e-300, 2.0**-53, 0.5, -0.5, 1.0, -1.0, 3.0],
        [np.nextafter(1, 0), np.nextafter(1, 2), -np.nextafter(1, 0), -np.nextafter(1, 2), 10.0, -7.0, 1e8, -1e8],
        [np.pi, np.pi / 2, -np.pi / 2, 3 * np.pi / 2, 1e154, 1e300, -1e300, 709.78, 709.0, -708.4, -745.13, -744.0],
    ]
)


def starts(rng: np.random.Generator, count: int, scale: float) -> np.ndarray:
    """Numbers of every kind: special, integers, dyadics, near multiples of π/2, of all magnitudes, of size `scale`."""
    quarter_turns = rng.integers(-1000, 1000, count) * 10.0 ** rng.integers(0, 6, count) * (np.pi / 2)
    kinds = [
        rng.choice(SPECIAL, count),
        rng.integers(-20, 21, count).astype(float),
        rng.integers(-(2**20), 2**20, count) * 2.0 ** rng.integers(-30, 10, count),
        quarter_turns * (1 + rng.integers(-3, 4, count) * 2.0**-52),
        rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(-320, 300, count),
        rng.uniform(-1e8, 1e8, count),
        rng.uniform(-750, 750, count),
        rng.uniform(-1, 1, count),
        rng.normal(0, scale, count),
        rng.normal(0, scale, count),
        scale * 10.0 ** rng.uniform(-20, 0, count),
    ]
    return np.choose(rng.integers(0, len(kinds), count), kinds)


def intervals(
    rng: np.random.Generator, count: int, scale: float = 3.0, domain: tuple[float, float] | None = None
) -> Any:
    """Low and high ends: points, neighbours, narrow, wide and very wide ones, inside the domain."""
    low = starts(rng, count, scale)
    if domain is not None:
        low = np.where((low >= domain[0]) & (low <= domain[1]), low, rng.uniform(*np.clip(domain, -50, 50), count))
    kinds = [
        low,
        np.nextafter(low, np.inf),
        low + np.abs(low) * 10.0 ** rng.uniform(-15, -1, count),
        low + 10.0 ** rng.uniform(-12, 1, count),
        np.maximum(starts(rng, count, scale), low),
    ]
    high = np.choose(rng.integers(0, len(kinds), count), kinds)
    return low, high if domain is None else np.minimum(high, domain[1])


def members(rng: np.random.Generator, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """One float64 member of every interval: an end as often as something between."""
    share = rng.choice([0.0, 1.0, 0.5, -1.0], low.shape)
    share = np.where(share < 0, rng.uniform(0, 1, low.shape), share)
    return np.clip(low * (1 - share) + high * share, low, high)


def assert_holds_members(function: Callable[[Any], Any], low: np.ndarray, high: np.ndarray, seed: int = 0) -> Any:
    """The enclosure on the boxes holds NumPy's result for members; returns the enclosure."""
    rng = np.random.default_rng(seed)
    result = function(IntervalArray(low, high))
    ends = (result.low, result.high) if hasattr(result, "low") else (result, result)
    for _ in range(8):
        with np.errstate(all="ignore"):
            value = np.asarray(function(members(rng, low, high)))
        assert value.shape == ends[0].shape
        number = ~np.isnan(value)
        assert (ends[0] <= value)[number].all()
        assert (value <= ends[1])[number].all()
    return result
