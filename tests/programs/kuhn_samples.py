"""Targets of every kind that an interpolant distinguishes, and Kuhn's interpolation written down a second time."""

import itertools
from fractions import Fraction

import numpy as np

import anyformer as af
from anyformer.targets.domains import Box
from anyformer.targets.target import Symmetry


def _pairs(x):
    return np.tanh(x * x.mean(axis=1, keepdims=True)) + x.sum(axis=2, keepdims=True) ** 2


def _running(x):
    return np.cumsum(np.sin(x), axis=1)


def _first_alone(x):
    return np.exp(x[:, :1] * 0.5) + 0 * x


# name: target, cells
SAMPLES = {
    "one number a token": (af.targets.softmax(tokens=3), 3),
    "four tokens": (af.targets.softmax(tokens=4), 2),
    "two numbers a token": (af.target(_pairs, tokens=2, width=2, domain=Box((-1.0, 0.3), (2.0, 0.7))), 2),
    "an odd domain": (af.target(_pairs, tokens=2, domain=Box(-0.3, 1.1), name="odd"), 5),
    "positions": (af.target(_running, tokens=3, domain=Box(-0.7, 2.0), symmetry=Symmetry.NONE), 3),
    "positions, one value": (af.target(_first_alone, tokens=2, symmetry=Symmetry.NONE), 4),
}


def points_of(target, count, seed=0):
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    return np.random.default_rng(seed).uniform(low, high, (count, target.tokens, target.width))


def interpolated(target, cells, x):
    """Kuhn's interpolation of the whole target at one sequence, in exact arithmetic: try every simplex of the cell.

    The simplex of a permutation of the axes holds x if the fractions fall along it.
    """
    low, high = (
        [Fraction(float(end)) for end in ends] * target.tokens
        for ends in (target.domain.lows(target.width), target.domain.highs(target.width))
    )
    y = [(Fraction(float(v)) - a) / (b - a) * cells for v, a, b in zip(x.ravel(), low, high, strict=True)]
    base = [min(int(v), cells - 1) for v in y]
    t = [v - b for v, b in zip(y, base, strict=True)]
    order = next(
        order
        for order in itertools.permutations(range(len(t)))
        if all(t[i] >= t[j] for i, j in itertools.pairwise(order))
    )
    total, corner = np.zeros((target.tokens, target.width)), list(base)
    falling = [Fraction(1), *(t[axis] for axis in order), Fraction(0)]
    for step, (before, after) in enumerate(itertools.pairwise(falling)):
        node = [float(a + (b - a) * k / cells) for k, a, b in zip(corner, low, high, strict=True)]
        total += float(before - after) * target(np.array(node).reshape(target.tokens, target.width))
        if step < len(order):
            corner[order[step]] += 1
    return total
