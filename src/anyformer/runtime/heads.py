"""Attention heads by their weights that are not 0, each with its mixing if that is the same for every sequence.

What is left out is a product with a weight of 0, or a row of queries or keys that is 0: both add 0 while the other
factor is finite. The layer that uses these heads sees to that (`attention`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.networks.layers import AttentionLayer
from anyformer.networks.probability_maps import ProbabilityMap
from anyformer.patterns.neighbours import Neighbours
from anyformer.runtime.fixed_channels import FixedChannels
from anyformer.runtime.mixing import FixedMixing, fixed_mixing, mixed, scores, weights_in_view


@dataclass(frozen=True, eq=False)
class Reading:
    """A row of weights: the channels that it reads, in order, and by how much."""

    channels: list[int]
    weights: list[float]

    @classmethod
    def of(cls, row: Array) -> "Reading":
        """The weights of a row that are not 0."""
        used = np.flatnonzero(row)
        return cls(used.tolist(), row[used].tolist())

    def __call__(self, rows: Sequence[Array]) -> Array:
        """Σ_c weights_c·rows_c, in the order of c."""
        if not self.channels:
            return np.zeros_like(rows[0])
        total = self.weights[0] * rows[self.channels[0]]
        for weight, channel in zip(self.weights[1:], self.channels[1:], strict=True):
            total += weight * rows[channel]
        return np.asarray(total)


@dataclass(frozen=True, eq=False)
class Head:
    """One head: what it asks, finds and returns, and which channels it writes."""

    probability_map: ProbabilityMap
    seen: Neighbours | None
    queries: list[tuple[Reading, float]]
    keys: list[Reading]
    values: list[Reading]
    writes: list[tuple[int, Reading]]
    """By channel, the reading of the mixed values that is added to it."""
    mixing: FixedMixing | None

    @classmethod
    def of(cls, layer: AttentionLayer, h: int, seen: Neighbours | None, fixed: FixedChannels) -> "Head":
        """Prepare head h; its weights are computed here if they are the same for every sequence."""
        W_Q, b_Q, W_K, W_O = layer.W_Q[h], layer.b_Q[h], layer.W_K[h], layer.W_O[h]
        live = np.flatnonzero((W_Q.any(axis=1) | (b_Q != 0)) & W_K.any(axis=1))
        used = np.flatnonzero(W_O.any(axis=0))
        queries = [(Reading.of(W_Q[m]), float(b_Q[m])) for m in live]
        keys = [Reading.of(W_K[m]) for m in live]
        values = [Reading.of(row) for row in layer.W_V[h][used]]
        writes = [(int(c), Reading.of(W_O[c, used])) for c in np.flatnonzero(W_O.any(axis=1))]
        head = cls(layer.probability_map, seen, queries, keys, values, writes, None)
        if not fixed.hold(W_Q[live], W_K[live]):
            return head
        mixing = fixed_mixing(head.weights([row[None] for row in fixed.values])[0])
        return cls(layer.probability_map, seen, queries, keys, values, writes, mixing)

    def weights(self, x: Sequence[Array]) -> Array:
        """The weights of all keys for every query, (sequences, queries, keys)."""
        if not self.queries:
            return weights_in_view(self.probability_map, np.zeros((*x[0].shape, x[0].shape[1])), self.seen)
        asked = [reading(x) + bias for reading, bias in self.queries]
        found = scores(asked, [reading(x) for reading in self.keys])
        return weights_in_view(self.probability_map, found, self.seen)

    def outputs(self, x: Sequence[Array]) -> list[Array]:
        """The mixed values, one row for each that is used."""
        values = [reading(x) for reading in self.values]
        if self.mixing is not None:
            return [self.mixing(value) for value in values]
        weights = self.weights(x)
        return [mixed(weights, value) for value in values]
