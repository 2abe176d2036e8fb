"""Ready-made targets that depend on the order of the tokens, on the unit cube, each with its true modulus."""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import TargetError
from anyformer.targets.moduli import Lipschitz, Tightest, same_coordinate
from anyformer.targets.sizes import check_sizes, whole_number
from anyformer.targets.target import Symmetry, Target


def sort(tokens: int, width: int = 1) -> Target:
    """The tokens in ascending order, for every coordinate."""
    check_sizes(tokens, width)
    # Sorting is monotone, and x − η ≤ x + δ ≤ x + η for η = max_k |δ_k| over one coordinate: every place moves by at
    # most η, which is also at most Σ_k |δ_k|. The first bound uses all coordinates, the second only the token's own.
    modulus = Tightest((Lipschitz(1.0), same_coordinate(np.ones((tokens, tokens)), width)))
    return Target(_sort, tokens, width, modulus, "sort", symmetry=Symmetry.NONE)


def _sort(x: Array) -> Array:
    return np.sort(x, axis=1)


def reverse(tokens: int, width: int = 1) -> Target:
    """The tokens in the opposite order."""
    check_sizes(tokens, width)
    modulus = same_coordinate(np.eye(tokens)[::-1], width)  # linear: its weights are its slopes
    return Target(_reverse, tokens, width, modulus, "reverse", symmetry=Symmetry.NONE)


def _reverse(x: Array) -> Array:
    return x[:, ::-1]


def running_maximum(tokens: int, width: int = 1) -> Target:
    """The largest of all tokens so far: max_{k ≤ j} x_k, for every coordinate."""
    check_sizes(tokens, width)
    # A maximum moves by at most the largest move of its arguments, which is at most their sum: tokens up to its own.
    modulus = Tightest((Lipschitz(1.0), same_coordinate(np.tri(tokens), width)))
    return Target(_running_maximum, tokens, width, modulus, "running-maximum", symmetry=Symmetry.NONE)


def _running_maximum(x: Array) -> Array:
    return np.maximum.accumulate(x, axis=1)


def cumulative_mean(tokens: int, width: int = 1) -> Target:
    """The mean of all tokens so far: mean_{k ≤ j} x_k."""
    check_sizes(tokens, width)
    modulus = same_coordinate(np.tri(tokens) / _counts(tokens), width)  # linear: its weights are its slopes
    return Target(_cumulative_mean, tokens, width, modulus, "cumulative-mean", symmetry=Symmetry.NONE)


def _cumulative_mean(x: Array) -> Array:
    return np.cumsum(x, axis=1) / _counts(x.shape[1])


def _counts(tokens: int) -> Array:
    return np.arange(1.0, tokens + 1)[:, np.newaxis]


def moving_average(tokens: int, width: int = 1, window: int = 3) -> Target:
    """The mean of the tokens in a window around each, cut off at the ends."""
    check_sizes(tokens, width)
    window = whole_number("window", window, least=1)
    if window % 2 == 0:
        raise TargetError(f"window must be odd, to have a middle; got {window}. Use {window - 1} or {window + 1}.")
    function = _MovingAverage(window)
    modulus = same_coordinate(function.weights(tokens), width)  # linear: its weights are its slopes
    return Target(
        function, tokens, width, modulus, "moving-average", symmetry=Symmetry.NONE, parameters={"window": window}
    )


@dataclass(frozen=True)
class _MovingAverage:
    window: int

    def weights(self, tokens: int) -> Array:
        """(tokens, tokens): the share of every token in every mean."""
        place = np.arange(tokens)
        seen = np.abs(place[:, np.newaxis] - place) <= self.window // 2
        shares: Array = seen / seen.sum(axis=1, keepdims=True)
        return shares

    def __call__(self, x: Array) -> Array:
        means: Array = self.weights(x.shape[1]) @ x
        return means


def copy_first(tokens: int, width: int = 1) -> Target:
    """The first token, in every place."""
    check_sizes(tokens, width)
    modulus = same_coordinate(np.eye(1, tokens).repeat(tokens, axis=0), width)  # linear: its weights are its slopes
    return Target(_copy_first, tokens, width, modulus, "copy-first", symmetry=Symmetry.NONE)


def _copy_first(x: Array) -> Array:
    return np.broadcast_to(x[:, :1], x.shape)
