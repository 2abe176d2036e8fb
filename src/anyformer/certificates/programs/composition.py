"""Polylines of polylines: what hidden units make of a channel that is itself a polyline of something."""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.polylines import TINY, UNIT, ReluSum
from anyformer.certificates.programs.stream import LARGEST, must

# More points than these are no reasonable claim, and would fill the memory.
MOST_POINTS = 1 << 20


@dataclass(frozen=True, eq=False)
class Polyline:
    """Straight between these points, from the first to the last; what is meant is within `doubt` of that."""

    at: Array
    heights: Array
    doubt: float

    def __post_init__(self) -> None:
        must(bool((np.diff(self.at) > 0).all()) and len(self.at) > 1, "a polyline has points from left to right")
        must(self.top + self.doubt < LARGEST, "all numbers are finite")

    @classmethod
    def of(cls, line: ReluSum, low: float, high: float) -> "Polyline":
        """A sum of ReLUs between two ends: it is straight between its kinks, which are known exactly."""
        at = line.knots(low, high)
        return cls(at, *line.values(at))

    @property
    def top(self) -> float:
        """The largest |height|; infinite if there is one that is not a number."""
        return float(np.nan_to_num(np.abs(self.heights), nan=np.inf).max())

    @property
    def steepness(self) -> float:
        """The largest |slope|, rounded up: a difference, a quotient."""
        return float(np.abs(np.diff(self.heights) / np.diff(self.at)).max()) * (1 + 8 * UNIT)

    def knots(self, low: float, high: float) -> Array:
        """The ends, and the points between them."""
        inside = self.at[(self.at > low) & (self.at < high)]
        return np.unique(np.concatenate([[low], inside, [high]]))

    def values(self, at: Array) -> tuple[Array, float]:
        """The values at points, and a bound on the error of all of them."""
        must(bool((at >= self.at[0]).all() and (at <= self.at[-1]).all()), "a polyline is read where it is known")
        return self._interpolated(at), self._rounding + self.doubt

    def _interpolated(self, at: Array) -> Array:
        k = np.clip(np.searchsorted(self.at, at, side="right") - 1, 0, len(self.at) - 2)
        share = (at - self.at[k]) / (self.at[k + 1] - self.at[k])
        return np.asarray(self.heights[k] + share * (self.heights[k + 1] - self.heights[k]))

    @property
    def _rounding(self) -> float:
        """The share has three roundings, the step to the next height one, their product one: together at most 5 of
        at most 2·top, and the sum one of at most 2·top. A share or a product may underflow."""
        return 16 * UNIT * self.top + 4 * TINY * (1 + self.top)

    def __add__(self, other: "Polyline") -> "Polyline":
        """The sum is straight between the points of both."""
        at = np.union1d(self.at, other.at)
        (mine, my_doubt), (theirs, their_doubt) = self.values(at), other.values(at)
        return Polyline(at, mine + theirs, my_doubt + their_doubt + UNIT * (self.top + other.top) * 2)

    def scaled(self, factor: float) -> "Polyline":
        """Multiplied by an exact number."""
        rounding = UNIT * abs(factor) * self.top * 2 + TINY
        return Polyline(self.at, self.heights * factor, abs(factor) * self.doubt * (1 + 4 * UNIT) + rounding)


def composed(line: ReluSum, inner: Polyline) -> Polyline:
    """u ↦ line(inner(u)), as a polyline in u.

    F = line ∘ inner bends only at points of `inner` and where `inner` crosses a kink of `line`. The crossings are known
    up to ε: a share with four roundings of a piece, and a sum. Let Q be the polyline through F at points with no bend
    of F further than ε from one of them, and F have slopes up to S. Then |Q − F| ≤ 4·S·ε: between two points further
    apart than 2ε, F is a straight line ℓ but for the last ε at each end; F − ℓ is at most 2·S·ε there, at the points
    themselves too, so that Q − ℓ is as small. Between two points nearer than that, F and Q change by at most 2·S·ε.

    What `inner` really is may be off by its doubt, which `line` stretches by its steepness.
    """
    at = np.unique(np.concatenate([inner.at, _crossings(np.unique(line.kinks), inner)]))
    middle, slip = inner.values(at)
    heights, rounding = line.values(middle)
    steepness = steepness_of(line)
    near = 16 * UNIT * float(np.abs(inner.at).max()) + 4 * TINY
    return Polyline(
        at, heights, (rounding + steepness * slip + 4 * steepness * inner.steepness * near) * (1 + 8 * UNIT)
    )


def steepness_of(line: ReluSum) -> float:
    """The largest |slope| of a sum of ReLUs, rounded up: from left to right every kink adds its weight."""
    weights = line.weights[np.argsort(line.kinks)]
    first = line.slope - float(line.weights[line.signs < 0].sum())
    slopes = first + np.concatenate([[0.0], np.cumsum(weights)])
    sizes = abs(line.slope) + float(np.abs(line.weights).sum())
    return float(np.abs(slopes).max()) + (2 * len(weights) + 8) * UNIT * sizes * 2


def _crossings(kinks: Array, inner: Polyline) -> Array:
    """Where a polyline crosses these heights, strictly between two of its points."""
    left, right = inner.heights[:-1], inner.heights[1:]
    first = np.searchsorted(kinks, np.minimum(left, right), side="right")
    counts = np.maximum(np.searchsorted(kinks, np.maximum(left, right), side="left") - first, 0)
    must(int(counts.sum()) + len(inner.at) <= MOST_POINTS, f"a composed polyline has at most {MOST_POINTS:,} points")
    piece = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(piece)) - np.repeat(np.cumsum(counts) - counts, counts)
    height = kinks[first[piece] + number]
    share = (height - left[piece]) / (right[piece] - left[piece])
    start, end = inner.at[:-1][piece], inner.at[1:][piece]
    return np.asarray(np.clip(start + share * (end - start), start, end))
