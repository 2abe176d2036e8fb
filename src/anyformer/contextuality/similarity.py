"""How contextual a layer is by the usual figures, corrected for anisotropy (Ethayarajh, EMNLP 2019).

Vectors of deep layers point into a narrow cone, so that any two of them are similar. Each figure is therefore read
against what random tokens give:

- *self-similarity*: the mean cosine of a token's vectors in different contexts, over tokens; less the anisotropy;
- *similarity within sequences*: the mean cosine of a vector and its sequence's mean, over sequences; less the
  anisotropy;
- *explained variance*: how much of a token's vectors their first singular vector explains, over tokens; less what it
  explains of as many random vectors.

The anisotropy is the mean cosine of all pairs of places in different sequences. Means of cosines are those of all
pairs, not of a sample: Σ_{i≠j} u_i·u_j = |Σu|² − Σ|u|².
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Array, Integers
from anyformer.contextuality.pairs import groups_by_token
from anyformer.contextuality.places import Places

LEAST_CONTEXTS: Final = 5
"""Tokens in fewer contexts are left out, as in the paper."""
MOST_TOKENS, MOST_VECTORS = 200, 200
"""Tokens whose explained variance is computed, and vectors of each: at random where there are more."""


@dataclass(frozen=True)
class Similarity:
    """The figures of one layer; None where no token stands in enough contexts."""

    anisotropy: float
    self_similarity: float | None
    """Corrected, as the next two."""
    within_sequences: float | None
    explained_variance: float | None
    tokens: int
    """How many different tokens stand in at least LEAST_CONTEXTS contexts."""


def similarity_of(vectors: NDArray[Any], places: Places, special: frozenset[int], seed: int) -> Similarity:
    """The figures of a layer. Special tokens, which stand in every sequence, are left out."""
    kept = ~np.isin(places.tokens, list(special))
    whole, sums = _sums(vectors, places, kept)
    counts = np.bincount(places.sequences[kept], minlength=places.count)
    anisotropy = _mean_cosine(whole, sums, counts)
    groups = [group for group in groups_by_token(places) if int(places.tokens[group[0]]) not in special]
    frequent = [group for group in groups if len(np.unique(places.sequences[group])) >= LEAST_CONTEXTS]
    alike = [_self_similarity(vectors[group], places.sequences[group]) for group in frequent]
    return Similarity(
        anisotropy=anisotropy,
        self_similarity=float(np.mean(alike)) - anisotropy if alike else None,
        within_sequences=_within(vectors, places, kept) - anisotropy if kept.any() else None,
        explained_variance=_explained(vectors, frequent, np.flatnonzero(kept), np.random.default_rng(seed)),
        tokens=len(frequent),
    )


def _units(vectors: NDArray[Any]) -> Array:
    """Vectors of length 1; 0 stays 0, and is similar to nothing."""
    wide = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    return np.asarray(np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0))


def _sums(vectors: NDArray[Any], places: Places, kept: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The sum of all kept unit vectors, and the squared length of each sequence's own sum."""
    whole, squares = np.zeros(vectors.shape[1]), np.zeros(places.count)
    for sequence in range(places.count):
        here = places.of(sequence)
        total = _units(vectors[here][kept[here]]).sum(axis=0)
        whole += total
        squares[sequence] = total @ total
    return whole, squares


def _mean_cosine(whole: Array, squares: Array, counts: Integers) -> float:
    """Over all pairs of different contexts, from the sum of all and the squared lengths of the contexts' own sums."""
    pairs = int(counts.sum()) ** 2 - int((counts**2).sum())
    return float((whole @ whole - squares.sum()) / pairs) if pairs else 0.0


def _self_similarity(vectors: NDArray[Any], contexts: Integers) -> float:
    """Of one token, whose places are in order."""
    units = _units(vectors)
    first = np.concatenate([[0], np.flatnonzero(np.diff(contexts)) + 1])
    sums = np.add.reduceat(units, first, axis=0)
    counts = np.diff([*first, len(units)])
    return _mean_cosine(sums.sum(axis=0), np.einsum("ij,ij->i", sums, sums), counts)


def _within(vectors: NDArray[Any], places: Places, kept: NDArray[np.bool_]) -> float:
    means = []
    for sequence in range(places.count):
        here = places.of(sequence)
        rows = vectors[here][kept[here]].astype(np.float64)
        if len(rows):
            means.append(float((_units(rows) @ _units(rows.mean(axis=0)[None])[0]).mean()))
    return float(np.mean(means))


def _explained(
    vectors: NDArray[Any], groups: Sequence[Integers], kept: Integers, rng: np.random.Generator
) -> float | None:
    if not groups:
        return None
    chosen = [groups[k] for k in np.sort(rng.permutation(len(groups))[:MOST_TOKENS])]
    some = [np.sort(rng.permutation(group)[:MOST_VECTORS]) for group in chosen]
    random = [np.sort(rng.permutation(kept)[: len(group)]) for group in some]
    own, others = ([_first_share(vectors[group]) for group in each] for each in (some, random))
    return float(np.mean(own) - np.mean(others))


def _first_share(vectors: NDArray[Any]) -> float:
    """The first squared singular value among all."""
    wide = vectors.astype(np.float64)
    squares = np.linalg.eigvalsh(wide @ wide.T if len(wide) < wide.shape[1] else wide.T @ wide)
    return float(squares[-1] / squares.sum()) if squares.sum() > 0 else 1.0
