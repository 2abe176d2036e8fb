"""For every vector of a group, the nearest vector that stands in another context: exactly, and in bounded memory.

FAISS finds candidates by inner products in float32. These cancel: of a small squared distance only the absolute error
is known, by the bound below. So the candidates are compared again in float64 by their differences, and a vector's
nearest neighbour counts as found only if no vector outside the list can be nearer. Otherwise the list is made longer,
and in the end all vectors of the group are compared.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Array, Integers
from anyformer.extras import require

UNIT = 2.0**-24
"""The rounding of float32."""
FEW = 48
"""Groups up to this size are compared vector by vector: that is faster than asking FAISS."""
NARROW = 8
"""Vectors of so few numbers are compared by their differences too, unless there are very many."""
MOST_DIRECT = 1 << 15
BLOCK = 1 << 22
"""Numbers in a block of distances."""
SPARE = 3
"""Neighbours that are asked for beyond those that could be of the vector's own context."""
FIRST, LONGER = 32, 8
"""The longest list at the first try, and by how much the next one is longer."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """For every vector of a group: how far the nearest one of another context is, and which one that is."""

    distances: Array
    """inf where the group has no other context."""
    partners: Integers
    """Numbers within the group; −1 where there is none."""


def nearest_elsewhere(vectors: NDArray[Any], contexts: Integers) -> Nearest:
    """The nearest vector of another context, for every vector.

    Args:
        vectors: (count, width), finite.
        contexts: (count,): vectors of the same context are not compared.

    Example:
        >>> nearest_elsewhere(np.array([[0.0], [0.5], [3.0]]), np.array([0, 0, 1])).distances
        array([3. , 2.5, 2.5])
    """
    count, width = vectors.shape
    found = Nearest(np.full(count, np.inf), np.full(count, -1, dtype=np.int64))
    _, members = np.unique(contexts, return_counts=True)
    if len(members) < 2:
        return found
    everyone = np.arange(count)
    if count <= FEW or (width <= NARROW and count <= MOST_DIRECT):
        _compare_all(vectors, contexts, everyone, found)
    else:
        _search(vectors, contexts, int(members.max()), found)
    return found


def _search(vectors: NDArray[Any], contexts: Integers, members: int, found: Nearest) -> None:
    """Lists of neighbours that grow until every nearest one is certain."""
    # Distances do not change when all vectors move, and short vectors have small roundings.
    moved = vectors - vectors.mean(axis=0, dtype=np.float64)
    lengths = np.einsum("ij,ij->i", moved, moved)
    given = np.ascontiguousarray(moved, dtype=np.float32)
    slack = _slack(lengths, vectors.shape[1])
    waiting, wanted = np.arange(len(vectors)), min(members, FIRST) + 1 + SPARE
    while len(waiting) and wanted < len(vectors):
        waiting = waiting[~_try(vectors, contexts, given, slack, waiting, wanted, found)]
        if wanted > FIRST * LONGER:
            break
        wanted *= LONGER
    _compare_all(vectors, contexts, waiting, found)


def _slack(lengths: Array, width: int) -> Array:
    """How far FAISS's squared distance of a vector to any other may be from the true one.

    A sum of `width` products in any order is off by at most width·u·|x||y| to first order (u = 2⁻²⁴), each squared
    length by width·u·|x|², and the two last sums by 2u of their terms: (width + 2)·u·(|x| + |y|)² in all. Rounding x
    and y themselves to float32 moves each by u·|x| and u·|y|, which changes the squared distance by at most
    2(|x| + |y|)·u(|x| + |y|). With (|x| + |y|)² ≤ 2(|x|² + |y|²) this is 2(width + 4)·u·(|x|² + |y|²); the 4 more pay
    for the terms of second order, up to widths of many thousands.
    """
    return np.asarray(2 * (width + 8) * UNIT * (lengths + lengths.max()))


def _try(
    vectors: NDArray[Any],
    contexts: Integers,
    given: NDArray[np.float32],
    slack: Array,
    asking: Integers,
    wanted: int,
    found: Nearest,
) -> NDArray[np.bool_]:
    """Look at the `wanted` nearest of some vectors; whose nearest one of another context is now certain."""
    faiss = require("faiss", extra="context", what="nearest neighbours among many vectors")
    certain = np.zeros(len(asking), dtype=bool)
    for start in range(0, len(asking), step := max(1, BLOCK // max(wanted, vectors.shape[1]))):
        some = asking[start : start + step]
        squares, listed = faiss.knn(given[some], given, wanted)
        squares = squares.astype(np.float64)
        elsewhere = contexts[listed] != contexts[some, None]
        closest = np.where(elsewhere, squares, np.inf).min(axis=1)
        # Only these can be the nearest of the list: the others are farther by more than both roundings.
        rows, columns = np.nonzero(elsewhere & (squares <= (closest + 2 * slack[some])[:, None]))
        partners = listed[rows, columns]
        distances = distances_between(vectors, some[rows], partners)
        known, chosen = first_of_each(rows, distances, partners)
        found.distances[some[known]], found.partners[some[known]] = distances[chosen], partners[chosen]
        # Whoever is not listed is at least this far away.
        beyond = squares[:, -1] - slack[some]
        nearest = found.distances[some]
        certain[start : start + step] = (nearest == 0) | (nearest**2 <= beyond)
    return certain


def first_of_each(rows: Integers, distances: Array, partners: Integers) -> tuple[Integers, Integers]:
    """The rows that occur, and for each the index of its nearest partner; the lowest among equally near ones."""
    order = np.lexsort((partners, distances, rows))
    known, first = np.unique(rows[order], return_index=True)
    return known, order[first]


def distances_between(vectors: NDArray[Any], first: Integers, second: Integers) -> Array:
    """By differences in float64, in blocks: how far vectors are from others, pair by pair."""
    distances = np.empty(len(first))
    for start in range(0, len(first), step := max(1, BLOCK // vectors.shape[1])):
        part = slice(start, start + step)
        differences = vectors[first[part]].astype(np.float64) - vectors[second[part]]
        distances[part] = np.sqrt(np.einsum("ij,ij->i", differences, differences))
    return distances


def _compare_all(vectors: NDArray[Any], contexts: Integers, some: Integers, found: Nearest) -> None:
    """Every one of `some` with every vector, by differences; the lowest number among equally near ones."""
    from scipy.spatial.distance import cdist

    if not len(some):
        return
    everything = vectors.astype(np.float64, copy=False)
    step = max(1, BLOCK // len(vectors))
    for start in range(0, len(some), step):
        rows = some[start : start + step]
        distances = cdist(everything[rows], everything)
        distances[contexts[rows, None] == contexts] = np.inf
        found.partners[rows] = distances.argmin(axis=1)
        found.distances[rows] = distances[np.arange(len(rows)), found.partners[rows]]
