"""Scores, weights and weighted sums of values, for blocks of sequences, in the order of the definition.

Rows have shape (sequences, tokens): one channel of all sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.networks.probability_maps import ProbabilityMap
from anyformer.patterns.neighbours import Neighbours

# Picking values by their keys costs about as much as this many passes over all of them (measured).
PRICE_OF_PICKING = 4


def scores(queries: Sequence[Array], keys: Sequence[Array]) -> Array:
    """Σ_m queries_m·keys_m of shape (sequences, queries, keys); the keys lie outermost in memory."""
    sequences, tokens = queries[0].shape
    found = np.empty((tokens, sequences, tokens))
    for j in range(tokens):
        found[j] = queries[0] * keys[0][:, j, None]
        for query, key in zip(queries[1:], keys[1:], strict=True):
            found[j] += query * key[:, j, None]
    return found.transpose(1, 2, 0)


def weights_in_view(probability_map: ProbabilityMap, scores: Array, seen: Neighbours | None) -> Array:
    """Weights of the keys in view; the others have none. The keys stay outermost in memory."""
    if seen is None:
        return probability_map(scores)
    weights = np.zeros_like(scores)
    for query in range(seen.tokens):
        keys = seen.keys_of(query)
        weights[:, query, keys] = probability_map(scores[:, query, keys])
    return weights


def mixed(weights: Array, values: Array) -> Array:
    """Σ_j weights[…, j]·values_j, in the order of j."""
    total = weights[..., 0] * values[:, 0, None]
    product = np.empty_like(total)
    for j in range(1, weights.shape[-1]):
        np.multiply(weights[..., j], values[:, j, None], out=product)
        total += product
    return np.asarray(total)


@dataclass(frozen=True, eq=False)
class FixedMixing:
    """Weights (queries, keys) that are the same for every sequence.

    Where all queries have the same weights, one sum serves them all. Otherwise keys without weight are passed over, if
    they are many. `keys` and `shares` hold for every query its keys that have weight, in their order, filled up with
    any key at weight 0. All this needs finite values.
    """

    weights: Array
    keys: Integers
    shares: Array

    @classmethod
    def of(cls, weights: Array) -> "FixedMixing":
        """Find the keys that have weight."""
        most = int((weights != 0).sum(axis=1).max())
        keys = np.argsort(weights == 0, axis=1, kind="stable")[:, :most]
        return cls(np.ascontiguousarray(weights.T).T, keys, np.take_along_axis(weights, keys, axis=1))

    def __call__(self, values: Array) -> Array:
        """Σ_j weights[i, j]·values_j for every query i, in the order of j."""
        if (self.weights == self.weights[0]).all():
            # The sums up to every key, one after the other; the last is the whole.
            total = np.add.accumulate(self.weights[0] * values, axis=1)[:, -1:]
            return np.broadcast_to(total, values.shape)
        if PRICE_OF_PICKING * self.keys.shape[1] >= len(self.weights):
            return mixed(self.weights[None], values)
        total = self.shares[:, 0] * values[:, self.keys[:, 0]]
        for keys, shares in zip(self.keys.T[1:], self.shares.T[1:], strict=True):
            total += shares * values[:, keys]
        return np.asarray(total)
