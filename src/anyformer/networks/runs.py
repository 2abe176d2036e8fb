"""Which feed-forward layers can touch a token: long runs of layers that look in one direction, searched instead of
walked.

A ReLU layer none of whose units is positive adds b_2 and nothing else. Where consecutive layers all read the same
direction w·x, layer l is asleep for every token with floor[l] <= w·x <= ceiling[l]. `LayerRun.next_awake` finds, for
many tokens at once, the next layer that is not, by descending a tree of minima: no order of the thresholds is assumed.
All of it is derived from the weights.

Why a skipped layer is asleep. Let a unit have W_1 = a·w, up to rounding, and the bias b; say a > 0. Its ceiling is
−b/a, less CAUTION·|b/a| and less 2⁻¹⁰⁶⁰/min(a, 1). The reading of w·x is at least w·x + CAUTION·Σ|wᵢxᵢ|/2, but for
products that underflow, 2⁻¹⁰⁷⁴ each. If it is at most the ceiling, then a·(w·x) + b is at most
−a·CAUTION·(|b/a| + Σ|wᵢxᵢ|)/2 − 2⁻¹⁰⁶¹. All roundings, of W_1, of the reading and of a program that computes W_1·x + b
in any order, fused or not, are together at most 2⁻⁴⁸·(|b| + a·Σ|wᵢxᵢ|), or 2⁻¹⁰⁷⁴ for each product that underflows. So
the unit is not positive, in real arithmetic and in float64. All this needs numbers that are *tame* (`magnitudes`).

A layer counts as awake if its weights or thresholds are not tame, and for a reading of NaN. Programs that must give the
bits of the definition use `reading_of`. For it, a token that is so large in some coordinate that a unit may overflow is
awake in every layer: ∞ − ∞ and 0·∞ are NaN there, although the unit would sleep.
"""

import enum
import itertools
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from anyformer.arrays import Array, Booleans, Integers
from anyformer.errors import NetworkError
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.magnitudes import MOST_TAME, tame

# Thresholds move inwards by this, relatively: more than rounding in b/a, in w·x and in a·w·x + b amounts to together.
CAUTION = 2.0**-46
# And by this over min(|a|, 1), for products that underflow.
UNDERFLOW = 2.0**-1060
LARGEST = float(np.finfo(np.float64).max)


class Layers(enum.Enum):
    """Which feed-forward layers are computed. A layer that is asleep for a token adds exactly 0 to it."""

    AWAKE = "those that may be awake for a token"
    ALL = "every one, for every token"


@dataclass(frozen=True, eq=False)
class LayerRun:
    """Layers start..stop−1 of a stage, all reading `direction`; asleep between floor and ceiling."""

    start: int
    stop: int
    direction: Array
    ceilings: "_FirstBelow"
    floors: "_FirstBelow"
    limit: float
    """No unit overflows for tokens whose coordinates are at most this large."""

    def next_awake(self, layer: Integers, low: Array, high: Array) -> Integers:
        """The first layer at or after `layer` that may be awake for w·x in [low, high]; `stop` if there is none."""
        return (
            np.minimum(self.ceilings.first(layer - self.start, high), self.floors.first(layer - self.start, -low))
            + self.start
        )

    def reading_of(self, x: Array) -> tuple[Array, Array]:
        """Bounds of w·x for tokens (…, width) as a program computes it; unbounded where that may overflow."""
        is_safe = (np.abs(x) <= self.limit).all(axis=-1)
        low, high = self.reading(x, x)
        return np.where(is_safe, low, -np.inf), np.where(is_safe, high, np.inf)

    def reading(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Bounds of w·x for boxes of tokens (…, width), rounded outwards."""
        w = self.direction
        used = np.flatnonzero(w)
        with np.errstate(invalid="ignore", over="ignore"):
            below = np.where(w > 0, low, high)[..., used] * w[used]
            above = np.where(w > 0, high, low)[..., used] * w[used]
            least = below.sum(axis=-1) - CAUTION * np.abs(below).sum(axis=-1)
            most = above.sum(axis=-1) + CAUTION * np.abs(above).sum(axis=-1)
        return np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)


class _FirstBelow:
    """Finds the first index from a start on whose threshold is below a value: a heap-ordered tree of minima.

    A threshold of NaN would hide its neighbours in the tree, so NaN is refused; a value of NaN is above all thresholds.
    """

    def __init__(self, thresholds: Array) -> None:
        if np.isnan(thresholds).any():
            raise NetworkError("a threshold of a feed-forward layer is NaN; its weights are no ordinary numbers")
        self.count = len(thresholds)
        self.size = 1 << max(self.count - 1, 0).bit_length()
        self.tree = np.full(2 * self.size, np.inf)
        # No finite value is above the largest float; an infinite one is above all thresholds.
        self.tree[self.size : self.size + self.count] = np.minimum(thresholds, LARGEST)
        for node in range(self.size.bit_length() - 2, -1, -1):
            level = slice(1 << node, 2 << node)
            self.tree[level] = self.tree[2 << node : 4 << node].reshape(-1, 2).min(axis=1)

    def first(self, start: Integers, value: Array) -> Integers:
        """For each start and value the smallest index >= start with threshold < value, or `count`."""
        value = np.where(np.isnan(value), np.inf, value)
        node = np.where(start < self.count, start + self.size, 0)
        searching = np.flatnonzero(node)
        while len(searching):
            searching = searching[self.tree[node[searching]] >= value[searching]]
            # The node to the right, as high up as it goes; a power of two means past the end of the tree.
            right = node[searching] + 1
            right //= right & -right
            node[searching] = np.where(right == 1, 0, right)
            searching = searching[right > 1]
        return self._leaf(node, value)

    def _leaf(self, node: Integers, value: Array) -> Integers:
        inner = np.flatnonzero((node > 0) & (node < self.size))
        while len(inner):
            left = 2 * node[inner]
            node[inner] = np.where(self.tree[left] < value[inner], left, left + 1)
            inner = inner[node[inner] < self.size]
        return np.where(node == 0, self.count, node - self.size)


def runs(stage: FeedForwardStage) -> list[LayerRun]:
    """Split a ReLU stage into runs of layers that read one direction; found once for every stage."""
    if stage not in _KNOWN:
        units = _Units.of(stage)
        borders = [0, *(np.flatnonzero(units.direction_changes) + 1).tolist(), len(stage)]
        _KNOWN[stage] = [units.run(start, stop) for start, stop in itertools.pairwise(borders)]
    return _KNOWN[stage]


# Weights never change, and proofs come back to the same stages with every chunk of cells.
_KNOWN: WeakKeyDictionary[FeedForwardStage, list[LayerRun]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class _Units:
    """Per layer a direction w, and per unit the factor a with W_1 = a·w (NaN if there is none)."""

    directions: Array
    factors: Array
    thresholds: Array
    is_always_awake: Booleans
    gains: Array
    """By layer, the largest sum of |W_1| over a unit."""

    @classmethod
    def of(cls, stage: FeedForwardStage) -> "_Units":
        is_wild = wild_layers(stage)
        W_1 = np.where(is_wild[:, None, None], 0.0, stage.W_1)
        b_1 = np.where(is_wild[:, None], 0.0, stage.b_1)
        directions = _first_nonzero_row(W_1)
        factors = _factors(W_1, directions)
        alone = np.isnan(factors)
        thresholds = -b_1 / np.where(alone | (factors == 0), 1.0, factors)
        # Constant units that are on, units with a direction of their own, layers with b_2, and wild ones.
        always = ((factors == 0) & (b_1 > 0)).any(axis=1) | alone.any(axis=1) | (stage.b_2 != 0).any(axis=1) | is_wild
        return cls(directions, factors, thresholds, always, np.abs(W_1).sum(axis=2).max(axis=1))

    @property
    def direction_changes(self) -> Booleans:
        return np.asarray((self.directions[1:] != self.directions[:-1]).any(axis=1))

    def run(self, start: int, stop: int) -> LayerRun:
        a, threshold = self.factors[start:stop], self.thresholds[start:stop]
        size = np.where(np.isnan(a) | (a == 0), 1.0, np.abs(a))
        cautious = CAUTION * np.abs(threshold) + UNDERFLOW / np.minimum(size, 1.0)
        ceiling = np.where(a > 0, threshold - cautious, np.inf)
        floor = np.where(a < 0, threshold + cautious, -np.inf)
        ceilings = np.where(self.is_always_awake[start:stop], -np.inf, ceiling.min(axis=1))
        trees = _FirstBelow(ceilings), _FirstBelow(-floor.max(axis=1))
        return LayerRun(start, stop, self.directions[start], *trees, MOST_TAME / max(1.0, self.gains[start:stop].max()))


def wild_layers(stage: FeedForwardStage) -> Booleans:
    """Layers that read with numbers that are not tame, or whose thresholds would not be."""
    is_plain = np.asarray(tame(stage.W_1).all(axis=(1, 2)) & tame(stage.b_1).all(axis=1))
    W_1 = np.where(is_plain[:, None, None], stage.W_1, 0.0)
    b_1 = np.where(is_plain[:, None], stage.b_1, 0.0)
    largest = np.abs(W_1).max(axis=2)
    with np.errstate(over="ignore", under="ignore"):
        thresholds = np.where(largest == 0, 0.0, b_1 / np.where(largest == 0, 1.0, largest))
        # Coordinates beside the largest of the layer, which scales its direction.
        shares = W_1 / np.where(largest == 0, 1.0, largest).max(axis=1)[:, None, None]
        lost = np.asarray(((shares == 0) & (W_1 != 0)) | ~tame(shares))
    return np.asarray(~is_plain | ~tame(thresholds).all(axis=1) | lost.any(axis=(1, 2)))


def _factors(W_1: Array, directions: Array) -> Array:
    """For every unit the a with W_1 = a·w, up to rounding; NaN if there is none."""
    layers, pivot = np.arange(len(W_1)), np.abs(directions).argmax(axis=1)
    scale = np.where(directions.any(axis=1), directions[layers, pivot], 1.0)
    factors = W_1[layers, :, pivot] / scale[:, None]
    # A product that underflowed to 0 must not pass for a weight that is 0.
    same = (factors[:, :, None] * directions[:, None, :] == W_1) & ((W_1 != 0) == (directions != 0)[:, None, :])
    return np.where((W_1 == 0).all(axis=2), 0.0, np.where(same.all(axis=2), factors, np.nan))


def _first_nonzero_row(W_1: Array) -> Array:
    used = (W_1 != 0).any(axis=2)
    rows = W_1[np.arange(len(W_1)), used.argmax(axis=1)]
    # Either sign would do; one fixed choice keeps runs together.
    pivot = rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)]
    scale = np.where(pivot == 0, 1.0, np.ldexp(np.sign(pivot), np.frexp(pivot)[1] - 1))
    return np.asarray(rows / scale[:, None])
