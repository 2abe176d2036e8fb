"""Functions of a whole array against fractions: the exact value at members lies in the enclosure, as does NumPy's."""

import math
from fractions import Fraction

import numpy as np
import pytest

from anyformer.intervals import IntervalArray
from tests.intervals.samples import members

RNG = np.random.default_rng(30)
ENTRIES = 7
WEIGHTS = RNG.uniform(0.1, 2, ENTRIES)
SIGNED = np.array([0.5, -0.25, 1.0, 3.0, -0.125, 0.75, 1.5])
KERNEL = RNG.normal(size=3)
POINTS = np.array([-1.5, -0.4, 0.1, 0.35, 2.0])
VALUES = np.array([0.3, -2.0, 1.7, 1.7, -0.1])
COEFFICIENTS = RNG.normal(size=4)
TENTH = Fraction(0.1)


def fractions(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


def average(weights):
    def exact(x):
        w = fractions(weights)
        return [sum(a * b for a, b in zip(x, w, strict=True)) / sum(w)]

    return exact


def own_average(x):
    w = [v * v + 1 for v in x]
    return [sum(a * b for a, b in zip(x, w, strict=True)) / sum(w)]


def at_position(x, position):
    ordered, below = sorted(x), min(math.floor(position), len(x) - 2)
    return ordered[below] + (ordered[below + 1] - ordered[below]) * (position - below)


def quantile(q):
    return lambda x: [at_position(x, Fraction(q) * (len(x) - 1))]


def interpolated(x):
    points, values = fractions(POINTS), fractions(VALUES)

    def at(v):
        if v <= points[0] or v >= points[-1]:
            return values[0] if v <= points[0] else values[-1]
        j = max(k for k, point in enumerate(points) if point <= v)
        return values[j] + (values[j + 1] - values[j]) * (v - points[j]) / (points[j + 1] - points[j])

    return [at(v) for v in x]


def polynomial(x):
    p = fractions(COEFFICIENTS)
    return [sum(c * v ** (len(p) - 1 - k) for k, c in enumerate(p)) for v in x]


def convolved(a, v):
    full = [Fraction(0)] * (len(a) + len(v) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(v):
            full[i + j] += x * y
    return full


def remainder(v, b):
    return v - math.floor(v / b) * b


def rounded(decimals):
    power = Fraction(10) ** decimals
    return lambda x: [round(v * power) / power for v in x]


CASES = {
    "average": (lambda x: np.average(x, weights=WEIGHTS), average(WEIGHTS)),
    "average, signed": (lambda x: np.average(x, weights=SIGNED), average(SIGNED)),
    "average, own weights": (lambda x: np.average(x, weights=np.square(x) + 1.0), own_average),
    "nanmean": (np.nanmean, average(np.ones(ENTRIES))),
    "quantile": (lambda x: np.quantile(x, 0.3), quantile(0.3)),
    "quantile at an entry": (lambda x: np.quantile(x, 0.5), quantile(0.5)),
    "quantile at the end": (lambda x: np.quantile(x, 1.0), quantile(1.0)),
    "percentile": (lambda x: np.percentile(x, 90), quantile(Fraction(9, 10))),
    "percentile near an entry": (lambda x: np.percentile(x, 100 / 3), quantile(Fraction(100 / 3) / 100)),
    "interp": (lambda x: np.interp(x, POINTS, VALUES), interpolated),
    "polyval": (lambda x: np.polyval(COEFFICIENTS, x), polynomial),
    "convolve": (lambda x: np.convolve(x, KERNEL), lambda x: convolved(x, fractions(KERNEL))),
    "convolve with itself": (lambda x: np.convolve(x, x[:2], "valid"), lambda x: convolved(x, x[:2])[1:-1]),
    "inner": (lambda x: np.inner(x, WEIGHTS), lambda x: [convolved(x, fractions(WEIGHTS[::-1]))[ENTRIES - 1]]),
    "outer": (lambda x: np.outer(x, KERNEL), lambda x: [a * b for a in x for b in fractions(KERNEL)]),
    "diff": (
        lambda x: np.diff(x, prepend=0.1, append=x[0]),
        lambda x: [b - a for a, b in zip([TENTH, *x], [*x, x[0]], strict=True)],
    ),
    "remainder": (lambda x: x % 0.1, lambda x: [remainder(v, TENTH) for v in x]),
    "remainder by a negative number": (lambda x: x % -0.1, lambda x: [remainder(v, -TENTH) for v in x]),
    "floor division": (lambda x: x // 0.1, lambda x: [math.floor(v / TENTH) for v in x]),
    "floor division by it": (lambda x: 5.0 // (x - 9.0), lambda x: [math.floor(5 / (v - 9)) for v in x]),
    "fmod": (
        lambda x: np.fmod(x, 0.1),
        lambda x: [remainder(abs(v), TENTH) * (1 if v >= 0 else -1) for v in x],
    ),
    "divmod": (lambda x: np.divmod(x, 0.1)[1], lambda x: [remainder(v, TENTH) for v in x]),
    "round": (lambda x: np.round(x, 2), rounded(2)),
    "round to tens": (lambda x: np.round(100 * x, -1), lambda x: rounded(-1)([100 * v for v in x])),
    "cumprod": (lambda x: x.cumprod(), lambda x: [math.prod(x[: k + 1]) for k in range(len(x))]),
}


def boxes(rng):
    """Points, entries that are equal, ties of a rounding, narrow and wide boxes, large and tiny numbers."""
    kinds = [rng.normal(size=ENTRIES), rng.integers(-8, 9, ENTRIES) / 8, rng.integers(-300, 300, ENTRIES) / 200]
    low = kinds[rng.integers(3)] * rng.choice([1.0, 1.0, 1.0, 1e-3, 1e-320, 8.0])
    width = rng.choice([0.0, 2.0**-52, 1e-9, 0.05, 1.0]) * rng.choice([0.0, 1.0], ENTRIES)
    return low, low + width * rng.uniform(size=ENTRIES)


@pytest.mark.parametrize("name", CASES)
def test_exact_values_lie_inside(name):
    function, exact = CASES[name]
    rng = np.random.default_rng(31)
    for _ in range(200):
        low, high = boxes(rng)
        result = function(IntervalArray(low, high))
        for member in (low, high, members(rng, low, high)):
            for x in (member.copy(), np.repeat(member, 2)[::2], member[::-1].copy()[::-1]):
                computed = function(x)
                assert ((result.low <= computed) & (computed <= result.high)).all()
            ends = zip(np.ravel(result.low), np.ravel(result.high), exact(fractions(member)), strict=True)
            assert all(least <= value <= greatest for least, greatest, value in ends)


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"round", "round to tens"}))
def test_points_are_tight(name):
    """Within 256 ulps of the largest numbers involved, for the longest sum has (7 + 4)·2 terms of a few ulps each."""
    function, _ = CASES[name]
    x = np.array([0.37, -0.82, 0.55, 1.21, -0.33, 0.91, 0.05])
    result = function(IntervalArray(x, x))
    assert (result.high - result.low <= 256 * 2.0**-52 * np.maximum(np.abs(function(x)).max(), 10.0)).all()
