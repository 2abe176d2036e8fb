"""The closest pair of all, exactly, among very many vectors, when a close pair is known already.

A projection onto a line brings no two vectors farther apart. So a pair that is closer than the one known lies within a
band of that width along any line. The vectors are sorted along the line on which they spread most, and only pairs
within the band are compared: few, where the closest pair is much closer than vectors usually are.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Array, Integers
from anyformer.contextuality.closest import Neighbours
from anyformer.contextuality.nearest import UNIT, distances_between, first_of_each

BLOCK: Final = 2048
SAMPLE: Final = 4096
"""Vectors from which the line is computed; any line is right, and a good one is fast."""


def closest_in_band(
    vectors: NDArray[Any], contexts: Integers, near: Neighbours, most: int, radius: float = np.inf
) -> Neighbours | None:
    """Look for pairs of different contexts that are closer than the closest of `near`.

    Args:
        vectors: (count, width).
        contexts: (count,): vectors of the same context are not compared.
        near: neighbours that are known; the closest of them gives the width of the band.
        most: how many pairs may be compared.
        radius: look only for pairs that are at most so far apart.

    Returns:
        `near` with every closest pair in it, of those within the radius; None if there are more pairs in the band than
        `most`.
    """
    if not near.distances.min() > 0:
        return near
    known = min(float(near.distances.min()), radius)
    along = _projected(vectors)
    order = np.argsort(along, kind="stable")
    # What rounding may do to two projections, generously: sums of `width` products of this size.
    width = known + 2 * vectors.shape[1] * 2.0**-52 * float(np.abs(along).max())
    ends = np.searchsorted(along[order], along[order] + width, side="right")
    if int((ends - np.arange(len(order))).sum()) > most:
        return None
    mean = vectors.mean(axis=0, dtype=np.float64)
    found = near
    for start in range(0, len(order), BLOCK):
        block = order[start : start + BLOCK]
        others = order[start : int(ends[min(start + BLOCK, len(order)) - 1])]
        first, second = _candidates(vectors, contexts, mean, block, others, known)
        distances = distances_between(vectors, first, second)
        closer = distances <= known
        for one, other in ((first[closer], second[closer]), (second[closer], first[closer])):
            found = found.nearer(_as_neighbours(len(vectors), one, other, distances[closer]))
    return found


def _projected(vectors: NDArray[Any]) -> Array:
    """Along the direction in which a sample spreads most."""
    sample = vectors[:: max(1, len(vectors) // SAMPLE)].astype(np.float64)
    middle = sample.mean(axis=0)
    directions = np.linalg.eigh((sample - middle).T @ (sample - middle))[1]
    parts = [(vectors[k : k + (1 << 14)] - middle) @ directions[:, -1] for k in range(0, len(vectors), 1 << 14)]
    return np.concatenate(parts)


def _candidates(
    vectors: NDArray[Any], contexts: Integers, mean: Array, block: Integers, others: Integers, known: float
) -> tuple[Integers, Integers]:
    """Pairs of a block and others that may be at most `known` apart; by inner products in float32, as in `nearest`."""
    rows: list[Integers] = []
    columns: list[Integers] = []
    left = np.ascontiguousarray(vectors[block] - mean, dtype=np.float32)
    left_squares = np.einsum("ij,ij->i", left, left, dtype=np.float64)
    for start in range(0, len(others), 4 * BLOCK):
        part = others[start : start + 4 * BLOCK]
        right = np.ascontiguousarray(vectors[part] - mean, dtype=np.float32)
        right_squares = np.einsum("ij,ij->i", right, right, dtype=np.float64)
        slack = 2 * (vectors.shape[1] + 8) * UNIT * (left_squares.max() + right_squares.max())
        # |x|² + |y|² − 2xy ≤ known² + slack
        bound = (left_squares[:, None] + right_squares - known**2 - slack) / 2
        i, j = np.nonzero(left @ right.T >= bound)
        keep = contexts[block[i]] != contexts[part[j]]
        rows.append(block[i[keep]])
        columns.append(part[j[keep]])
    return np.concatenate(rows), np.concatenate(columns)


def _as_neighbours(count: int, one: Integers, other: Integers, distances: Array) -> Neighbours:
    found = Neighbours.none(count)
    known, chosen = first_of_each(one, distances, other)
    found.distances[known], found.partners[known] = distances[chosen], other[chosen]
    return found
