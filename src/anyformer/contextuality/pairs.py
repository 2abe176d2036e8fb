"""The three kinds of pairs of the definition: within a sequence, of the same token, and of any two tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Integers
from anyformer.contextuality.band import closest_in_band
from anyformer.contextuality.closest import Neighbours
from anyformer.contextuality.indexing import nearest_by_index
from anyformer.contextuality.nearest import nearest_elsewhere
from anyformer.contextuality.places import Places
from anyformer.targets.target import Symmetry
from anyformer.workers import Progress

EXHAUSTIVE: Final = 100_000
"""Up to so many vectors, all pairs of any two tokens are compared."""


def within_sequences(vectors: NDArray[Any], places: Places, symmetry: Symmetry) -> Neighbours:
    """For every place, the nearest other position of the same sequence.

    Without positions a model cannot tell equal tokens of a sequence apart: in the equivariant setting only positions
    that hold different tokens are compared, as in the papers, whose sequences then have no token twice.
    """
    from scipy.spatial.distance import cdist

    found = Neighbours.none(len(places))
    for sequence in range(places.count):
        here = places.of(sequence)
        rows = vectors[here].astype(np.float64)
        distances = cdist(rows, rows)
        np.fill_diagonal(distances, np.inf)
        if symmetry is Symmetry.EQUIVARIANT:
            tokens = places.tokens[here]
            distances[tokens[:, None] == tokens] = np.inf
        nearest = distances.argmin(axis=1)
        known = np.isfinite(distances[np.arange(len(rows)), nearest])
        found.distances[here] = distances[np.arange(len(rows)), nearest]
        found.partners[here] = np.where(known, nearest + here.start, -1)
    return found


def groups_by_token(places: Places) -> Iterator[Integers]:
    """The places of each token, in their order, for tokens that stand in more than one sequence."""
    order = np.argsort(places.tokens, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(places.tokens[order])) + 1):
        if places.sequences[group[0]] != places.sequences[group[-1]]:
            yield group


def same_token(vectors: NDArray[Any], places: Places, progress: Progress | None = None) -> Neighbours:
    """For every place, the nearest vector of the same token in another sequence: exactly."""
    found, done = Neighbours.none(len(places)), 0
    for group in groups_by_token(places):
        near = nearest_elsewhere(vectors[group], places.sequences[group])
        found.distances[group] = near.distances
        found.partners[group] = np.where(near.partners >= 0, group[near.partners], -1)
        done += len(group)
        if progress is not None:
            progress(done, len(places))
    return found


@dataclass(frozen=True, eq=False)
class Anywhere:
    """For every place the nearest vector of any other sequence, and how sure that is."""

    found: Neighbours
    recall: float | None
    """How often the nearest vector of a place was found; None where all were compared."""
    closest_is_exact: bool
    """Whether no pair is closer than the closest one found."""
    margin_is_exact: bool
    """Whether no pair within the margin was missed."""


def any_tokens(
    vectors: NDArray[Any], places: Places, near: Neighbours, margin: float, exhaustive: int, seed: int
) -> Anywhere:
    """For every place, the nearest vector of any other sequence.

    Args:
        vectors: (places, width).
        places: what they are vectors of.
        near: partners that are known already; the result is never farther.
        margin: what the verdict asks: is any pair within it?
        exhaustive: up to so many vectors the search is exact. Above, an index is asked for all places; the closest
            pair is still exact if no more pairs need be compared for it than so many vectors have. If there are more,
            pairs within the margin are looked for in the same way.
        seed: of the places at which the index is tested.
    """
    if len(places) <= exhaustive:
        exact = nearest_elsewhere(vectors, places.sequences)
        return Anywhere(near.nearer(Neighbours(exact.distances, exact.partners)), None, True, True)
    found, recall = nearest_by_index(vectors, places.sequences, near, seed)
    for radius in (np.inf, margin):
        certain = closest_in_band(vectors, places.sequences, found, exhaustive**2 // 2, radius)
        if certain is not None:
            return Anywhere(certain, recall, radius == np.inf, True)
    return Anywhere(found, recall, False, False)
