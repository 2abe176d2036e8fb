"""Scores, weights and weighted sums of values, for blocks of sequences, in the order of the definition.

Rows have shape (sequences, tokens): one channel of all sequences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Integers
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


def weights_in_view(probability_map: Callable[[Array], Array], scores: Array, seen: Neighbours | None) -> Array:
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


# Σ_j weights[i, j]·values_j for every query i, in the order of j, with weights that are the same for every sequence.
FixedMixing = Callable[[Array], Array]


def fixed_mixing(weights: Array) -> FixedMixing:
    """The cheapest way to mix finite values by these weights (queries, keys)."""
    if (weights == weights[0]).all():
        return OneMixture(weights[0].copy())
    most = int((weights != 0).sum(axis=1).max())
    if PRICE_OF_PICKING * most >= weights.shape[1]:
        return EveryKey(np.ascontiguousarray(weights.T).T)
    keys = np.argsort(weights == 0, axis=1, kind="stable")[:, :most]
    return PickedKeys(keys.copy(), np.take_along_axis(weights, keys, axis=1))


@dataclass(frozen=True, eq=False)
class OneMixture:
    """All queries have the same weights, so that one sum serves them all."""

    weights: Array

    def __call__(self, values: Array) -> Array:
        """Values (sequences, tokens), mixed."""
        # The sums up to every key, one after the other; the last is the whole.
        total = np.add.accumulate(self.weights * values, axis=1)[:, -1:]
        return np.broadcast_to(total, values.shape)


@dataclass(frozen=True, eq=False)
class EveryKey:
    """Most keys have weight; (queries, keys), the keys outermost in memory."""

    weights: Array

    def __call__(self, values: Array) -> Array:
        """Values (sequences, tokens), mixed."""
        return mixed(self.weights[None], values)


@dataclass(frozen=True, eq=False)
class PickedKeys:
    """For every query its keys that have weight, in their order, filled up with any key at weight 0."""

    keys: Integers
    weights: Array

    def __call__(self, values: Array) -> Array:
        """Values (sequences, tokens), mixed."""
        total = self.weights[:, 0] * values[:, self.keys[:, 0]]
        for keys, weights in zip(self.keys.T[1:], self.weights.T[1:], strict=True):
            total += weights * values[:, keys]
        return np.asarray(total)
