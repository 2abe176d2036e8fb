"""Nearest vectors among very many: an inverted-file index of FAISS, and how often it finds the nearest one.

The vectors are divided into lists around centres, and only the lists nearest to a vector are searched. So a distance
that is found is true, but a closer pair may exist. The recall says how often: at sampled places, all vectors are
compared too.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Integers
from anyformer.contextuality.closest import Neighbours
from anyformer.contextuality.nearest import distances_between, first_of_each
from anyformer.extras import require

SAMPLE: Final = 1_000
"""Places at which the index is compared with all vectors."""
PROBES: Final = 4
"""Lists that are searched for each vector."""
LISTED: Final = 32
"""Neighbours that are asked for, of which some are of the vector's own sequence."""
TRAINING: Final = 40
"""Vectors for each centre that is learned; FAISS warns below 39."""
BLOCK: Final = 1 << 14
"""Vectors that are looked up at once."""


def nearest_by_index(
    vectors: NDArray[Any], contexts: Integers, near: Neighbours, seed: int
) -> tuple[Neighbours, float]:
    """For every vector the nearest one of another context that the index finds, and the recall at sampled places."""
    faiss = require("faiss", extra="context", what="nearest neighbours among many vectors")
    count, width = vectors.shape
    rng = np.random.default_rng(seed)
    mean = vectors[np.sort(rng.permutation(count)[: 1 << 14])].mean(axis=0, dtype=np.float64)
    lists = int(np.clip(4 * np.sqrt(count), 1, count // TRAINING))
    quantiser = faiss.IndexFlatL2(width)
    index = faiss.IndexIVFFlat(quantiser, width, lists)
    index.nprobe = min(PROBES, lists)
    index.train(_moved(vectors, mean, np.sort(rng.permutation(count)[: lists * TRAINING])))
    parts = [np.arange(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]
    for part in parts:
        index.add(_moved(vectors, mean, part))
    found = near
    for part in parts:
        listed = index.search(_moved(vectors, mean, part), LISTED)[1]
        found = found.nearer(_best(vectors, contexts, part, listed, count))
    return found, _recall(vectors, contexts, mean, found, np.sort(rng.permutation(count)[:SAMPLE]))


def _moved(vectors: NDArray[Any], mean: NDArray[Any], part: Integers) -> NDArray[np.float32]:
    """Around 0, where float32 rounds least."""
    return np.ascontiguousarray(vectors[part] - mean, dtype=np.float32)


def _best(vectors: NDArray[Any], contexts: Integers, part: Integers, listed: Integers, count: int) -> Neighbours:
    """The nearest one of another context among those listed, by distances in float64."""
    best = Neighbours.none(count)
    rows, columns = np.nonzero((listed >= 0) & (contexts[listed] != contexts[part, None]))
    # FAISS lists the nearest first: the first three of another context are enough against its roundings.
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    rows, columns = rows[rank < 3], columns[rank < 3]
    partners = listed[rows, columns]
    distances = distances_between(vectors, part[rows], partners)
    known, chosen = first_of_each(rows, distances, partners)
    best.distances[part[known]], best.partners[part[known]] = distances[chosen], partners[chosen]
    return best


def _recall(
    vectors: NDArray[Any], contexts: Integers, mean: NDArray[Any], found: Neighbours, sample: Integers
) -> float:
    """The share of sampled places at which no vector of another context is nearer than the one that was found."""
    asking = _moved(vectors, mean, sample)
    nearest, smallest = np.full(len(sample), -1), np.full(len(sample), np.inf)
    for start in range(0, len(vectors), BLOCK):
        part = np.arange(start, min(start + BLOCK, len(vectors)))
        others = _moved(vectors, mean, part)
        squares = np.einsum("ij,ij->i", others, others) - 2 * (asking @ others.T)
        squares[contexts[sample, None] == contexts[part]] = np.inf
        best = squares.argmin(axis=1)
        values = squares[np.arange(len(sample)), best]
        takes = values < smallest
        nearest[takes], smallest[takes] = part[best[takes]], values[takes]
    return float((found.distances[sample] <= distances_between(vectors, sample, nearest)).mean())
