"""What is kept of nearest distances: the smallest, the distribution, and the closest pairs themselves."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Array, Integers
from anyformer.contextuality.nearest import distances_between
from anyformer.contextuality.places import Place, Places

QUANTILES: Final = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""Of the nearest distances of all places."""


@dataclass(frozen=True)
class Pair:
    """Two places and how far apart their vectors are."""

    first: Place
    second: Place
    distance: float


@dataclass(frozen=True)
class Closest:
    """The nearest pairs of one kind in one layer."""

    places: int
    """How many places have a partner to be compared with."""
    quantiles: tuple[float, ...]
    """The nearest distance of a place, at QUANTILES; empty if there was nothing to compare."""
    pairs: tuple[Pair, ...]
    """The closest pairs, of different tokens each, the closest of all first."""
    recall: float | None = None
    """The share of sampled places whose nearest vector an index found; None where every pair was compared."""
    is_exact: bool = True
    """Whether it is certain that no pair is closer than the closest one here."""
    margin_is_exact: bool = True
    """Whether it is certain that no pair within the margin was missed."""

    @property
    def distance(self) -> float | None:
        """The smallest distance; None if there was nothing to compare."""
        return self.pairs[0].distance if self.pairs else None


@dataclass(frozen=True, eq=False)
class Neighbours:
    """For every place the nearest one of a kind; partner −1 and distance inf where there is none."""

    distances: Array
    partners: Integers

    @classmethod
    def none(cls, count: int) -> "Neighbours":
        """Nobody has a partner yet."""
        return cls(np.full(count, np.inf), np.full(count, -1, dtype=np.int64))

    def nearer(self, other: "Neighbours") -> "Neighbours":
        """The nearer of two partners, for every place; the lower number if both are equally near."""
        takes = (other.distances < self.distances) | (
            (other.distances == self.distances) & (other.partners >= 0) & (other.partners < self.partners)
        )
        return Neighbours(
            np.where(takes, other.distances, self.distances), np.where(takes, other.partners, self.partners)
        )


def summarised(found: Neighbours, vectors: NDArray[Any], places: Places, most: int) -> Closest:
    """The distribution, and the closest pairs: at most one for each pair of tokens, so that they tell different things.

    Among equally close pairs those of the earliest places come first.
    """
    known = np.flatnonzero(found.partners >= 0)
    if not len(known):
        return Closest(0, (), ())
    distances = found.distances[known]
    quantiles = tuple(np.quantile(distances, QUANTILES, method="inverted_cdf").tolist())
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    for index in known[np.argsort(distances, kind="stable")].tolist():
        if len(pairs) == most:
            break
        partner = int(found.partners[index])
        tokens = sorted((int(places.tokens[index]), int(places.tokens[partner])))
        pairs.setdefault((tokens[0], tokens[1]), (min(index, partner), max(index, partner)))
    ends = np.array(list(pairs.values()), dtype=np.int64).reshape(-1, 2)
    exact = distances_between(vectors, ends[:, 0], ends[:, 1]).tolist()
    return Closest(
        len(known),
        quantiles,
        tuple(
            Pair(places.place(one), places.place(other), distance)
            for (one, other), distance in zip(ends.tolist(), exact, strict=True)
        ),
    )
