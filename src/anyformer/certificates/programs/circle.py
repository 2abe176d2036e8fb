"""How far a sum of ReLUs of two numbers, Σ w·max(x·a + y·b, 0) + s·a + t·b, is from √(a² + b²)."""

import math
from itertools import pairwise

import numpy as np

from anyformer.arrays import Array

UNIT = 2.0**-53


def off_circle(vectors: Array, weights: Array, slopes: Array) -> float:
    """The largest distance from 1 on the unit circle, which both functions stretch by √(a² + b²).

    Between two directions where units vanish the sum is linear, g·(cos θ, sin θ) = |g|·cos(θ − angle of g). Its
    extremes are at the two ends, or ±|g| where the arc holds the direction of ±g.

    Rounding: an angle is off by less than 32·2⁻⁵³ after arctan2, ±π/2 and mod 2π, and the sum changes along the circle
    by at most its Lipschitz constant times the angle. That covers kinks that lie a little beside their computed place,
    arcs so short that a unit is taken for awake by mistake (such an arc is no longer than these roundings), and an arc
    that seems to miss the direction of g by them: there |g| is missed by |g|·(1 − cos δ) only. A gradient and its
    values have len(weights) + 8 roundings of the same constant.
    """
    angles = np.arctan2(vectors[:, 1], vectors[:, 0])
    turns = np.unique(np.mod(np.concatenate([angles - np.pi / 2, angles + np.pi / 2, [0.0]]), 2 * np.pi))
    turns = np.append(turns, turns[0] + 2 * np.pi)
    found = [0.0]
    for first, last in pairwise(turns.tolist()):
        middle, half = (first + last) / 2, (last - first) / 2
        awake = vectors @ [math.cos(middle), math.sin(middle)] > 0
        gradient = (weights[awake, None] * vectors[awake]).sum(axis=0) + slopes
        values = [float(gradient @ [math.cos(turn), math.sin(turn)]) for turn in (first, last)]
        for sign in (1.0, -1.0):
            angle = math.atan2(sign * gradient[1], sign * gradient[0])
            if abs(math.remainder(angle - middle, 2 * math.pi)) <= half:
                values.append(sign * math.hypot(*gradient))
        found += [abs(value - 1) for value in values]
    lipschitz = float((np.abs(weights) * np.hypot(*vectors.T)).sum() + np.abs(slopes).sum())
    # NumPy's maximum, unlike Python's, does not lose a NaN.
    return float(np.max(found)) + (len(weights) + 64) * 4 * UNIT * (lipschitz + 1)
