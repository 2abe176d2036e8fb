"""Ready-made permutation-equivariant targets on the unit cube, each with its true modulus.

Constants are bounds on derivatives; on a convex domain they bound differences as well. Where possible, formulas use
each input only once: run on intervals they then give the exact range.
"""

import math
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import TargetError
from anyformer.targets.domains import CompactSupport
from anyformer.targets.moduli import EntrywiseLipschitz, Lipschitz, Tightest, same_coordinate
from anyformer.targets.sizes import check_sizes, whole_number
from anyformer.targets.target import Target


def mean_scale(tokens: int, width: int = 1) -> Target:
    """Every token times the mean of all tokens: x_j · mean_k x_k."""
    check_sizes(tokens, width)
    # ∂f_j/∂x_j = mean + x_j/n ≤ 1 + 1/n; ∂f_j/∂x_k = x_j/n ≤ 1/n. They add up to 2, and Lipschitz(2) would add nothing.
    weights = np.eye(tokens) + 1 / tokens
    return Target(_mean_scale, tokens, width, same_coordinate(weights, width), "mean-scale")


def _mean_scale(x: Array) -> Array:
    mean: Array = x.mean(axis=1, keepdims=True)
    return x * mean


# Up to so many tokens, formulas compare all pairs of them, which is tight on intervals; tables have no more anyway.
FEW = 8


def softmax(tokens: int, width: int = 1, sharpness: float = 3.0) -> Target:
    """The softmax of sharpness · x over the tokens, for every coordinate."""
    check_sizes(tokens, width)
    if not 0 < sharpness < math.inf:
        raise TargetError(f"sharpness must be finite and above 0; got {sharpness}. Give a positive sharpness.")
    # ∂f_j/∂x_k = s p_j (δ_jk − p_k): each at most s/4 in size, and over k they add up to 2 s p_j (1 − p_j) ≤ s/2.
    entrywise = same_coordinate(np.full((tokens, tokens), sharpness / 4), width)
    modulus = Tightest((Lipschitz(sharpness / 2), entrywise))
    # The exponents s (x_j − max) carry errors below 2 s 2^-53, numerator and denominator alike.
    rounding = max(2.0**-40, sharpness * 2.0**-50)
    parameters = {"sharpness": float(sharpness)}
    return Target(
        _Softmax(float(sharpness)), tokens, width, modulus, "softmax", parameters=parameters, evaluation_error=rounding
    )


@dataclass(frozen=True)
class _Softmax:
    sharpness: float

    def __call__(self, x: Array) -> Array:
        if x.shape[1] > FEW:
            exponentials = np.exp(self.sharpness * (x - x.max(axis=1, keepdims=True)))
            shares: Array = exponentials / exponentials.sum(axis=1, keepdims=True)
            return shares
        # p_j = 1 / Σ_k exp(s (x_k − x_j)); the factor keeps x_j − x_j at 0. On intervals this is much tighter.
        apart = 1 - np.eye(x.shape[1])[:, :, None]
        odds = np.exp(self.sharpness * (apart * (x[:, :, None] - x[:, None])))
        weights: Array = 1 / odds.sum(axis=1)
        return weights


def centre(tokens: int, width: int = 1) -> Target:
    """Every token minus the mean of all tokens: x_j − mean_k x_k."""
    check_sizes(tokens, width)
    # Linear, so its weights are its slopes; they add up to 2 (1 − 1/n) in every row.
    weights = np.abs(np.eye(tokens) - 1 / tokens)
    return Target(_centre, tokens, width, same_coordinate(weights, width), "centre")


def _centre(x: Array) -> Array:
    centring = np.eye(x.shape[1]) - 1 / x.shape[1]
    centred: Array = np.einsum("jk,bkw->bjw", centring, x)
    return centred


def centroid_distance(tokens: int, width: int = 1) -> Target:
    """The Euclidean distance of every token to the mean of all tokens, repeated in every coordinate."""
    check_sizes(tokens, width)
    # |‖y‖₂ − ‖y'‖₂| ≤ ‖y − y'‖₂, which is at most ‖y − y'‖₁ and at most √width · ‖y − y'‖_∞, for y = x_j − mean: y is
    # `centre`, whose slopes are |δ_jk − 1/n| in the same coordinate and add up to 2 (1 − 1/n).
    slopes = np.abs(np.eye(tokens) - 1 / tokens)
    entrywise = EntrywiseLipschitz(np.einsum("jk,il->jikl", slopes, np.ones((width, width))))
    modulus = Tightest((Lipschitz(2 * (1 - 1 / tokens) * math.sqrt(width)), entrywise))
    return Target(_centroid_distance, tokens, width, modulus, "centroid-distance")


def _centroid_distance(x: Array) -> Array:
    distances = np.sqrt(np.square(_centre(x)).sum(axis=2, keepdims=True))
    return np.broadcast_to(distances, x.shape)


def bump(tokens: int, width: int = 1) -> Target:
    """Every token times a tent over the whole cube that is 0 from its boundary on: compact support."""
    check_sizes(tokens, width)
    # f_j = x_j g with g = max(0, 1 − 2M), M = max |x − 1/2|. A step of size η changes f_j by at most g η + x_j 2η, and
    # x_j ≤ 1/2 + M makes g + 2 x_j ≤ 2.
    return Target(_bump, tokens, width, Lipschitz(2.0), "bump", domain=CompactSupport(0.0, 1.0))


def _bump(x: Array) -> Array:
    tent: Array = 1 - 2 * np.abs(x - 0.5).max(axis=(1, 2), keepdims=True)
    return x * np.maximum(tent, 0.0)


def power_sums(tokens: int, width: int = 1, degree: int = 2) -> Target:
    """The mean of x_k^degree over all tokens, the same for every token."""
    check_sizes(tokens, width)
    degree = whole_number("degree", degree, least=1)
    # ∂f_j/∂x_k = degree · x_k^(degree−1) / n ≤ degree/n; they add up to degree.
    weights = np.full((tokens, tokens), degree / tokens)
    modulus = same_coordinate(weights, width)
    return Target(_PowerSums(degree), tokens, width, modulus, "power-sums", parameters={"degree": degree})


@dataclass(frozen=True)
class _PowerSums:
    degree: int

    def __call__(self, x: Array) -> Array:
        return np.broadcast_to((x**self.degree).mean(axis=1, keepdims=True), x.shape)
