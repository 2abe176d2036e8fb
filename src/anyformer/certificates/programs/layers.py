"""The layers of a network as the checker sees them: idle ones left out, cut ones joined again.

A layer that was cut into several of its stage, because few hidden units or heads were wanted, is one layer to the
checker: as long as no part reads what an earlier part wrote, all parts together do what the uncut layer does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.networks.layers import AttentionLayer, FeedForwardLayer
from anyformer.networks.network import Network
from anyformer.patterns.neighbours import Neighbours


@dataclass(frozen=True, eq=False)
class Head:
    """One head, and which keys each query sees, (queries, keys); None if all."""

    W_Q: Array
    b_Q: Array
    W_K: Array
    W_V: Array
    W_O: Array
    sees: Booleans | None = None


@dataclass(frozen=True, eq=False)
class Attention:
    """Heads that all read the same stream; `parts` layers of the network."""

    heads: tuple[Head, ...]
    parts: int = 1

    @property
    def writes(self) -> Booleans:
        """Which channels it writes."""
        return np.asarray(np.any([head.W_O.any(axis=1) for head in self.heads], axis=0))

    @property
    def reads(self) -> Booleans:
        """Which channels it reads."""
        return np.asarray(np.any([matrix.any(axis=0) for h in self.heads for matrix in (h.W_Q, h.W_K, h.W_V)], axis=0))

    @property
    def constants(self) -> Booleans:
        """Heads add no constant to any channel."""
        return np.zeros_like(self.writes)


@dataclass(frozen=True, eq=False)
class FeedForward:
    """Hidden units that all read the same stream; `parts` layers of the network."""

    W_1: Array
    b_1: Array
    W_2: Array
    b_2: Array
    parts: int = 1

    @property
    def writes(self) -> Booleans:
        """Which channels it writes."""
        return np.asarray(self.W_2.any(axis=1) | (self.b_2 != 0))

    @property
    def reads(self) -> Booleans:
        """Which channels it reads."""
        return np.asarray(self.W_1.any(axis=0))

    @property
    def constants(self) -> Booleans:
        """Which channels get a constant."""
        return np.asarray(self.b_2 != 0)


def joined_layers(network: Network) -> list[Attention | FeedForward]:
    """All layers that do something; those of one stage are one layer, as far as none reads what others wrote."""
    return [layer for k in range(len(network.stages)) for layer in _of_stage(network, k)]


def _of_stage(network: Network, number: int) -> Iterator[Attention | FeedForward]:
    parts: list[Any] = []
    written = constants = np.zeros(network.stream_width, dtype=np.bool_)
    for layer in _layers(network, number):
        # A constant that a channel got before is not added to: the sum might be rounded.
        if parts and (layer.reads & written | layer.constants & constants).any():
            yield _joined(parts)
            parts, written, constants = [], np.zeros_like(written), np.zeros_like(written)
        parts.append(layer)
        written, constants = written | layer.writes, constants | layer.constants
    if parts:
        yield _joined(parts)


def _joined(parts: list[Any]) -> Attention | FeedForward:
    """All parts as one layer."""
    if isinstance(parts[0], Attention):
        return Attention(tuple(head for part in parts for head in part.heads), len(parts))
    return FeedForward(
        np.concatenate([part.W_1 for part in parts]),
        np.concatenate([part.b_1 for part in parts]),
        np.concatenate([part.W_2 for part in parts], axis=1),
        np.sum([part.b_2 for part in parts], axis=0),  # at most one of them is not 0
        len(parts),
    )


def _layers(network: Network, number: int) -> Iterator[Attention | FeedForward]:
    stage = network.stages[number]
    for index, view in enumerate(network.views(number)):
        layer = stage[index]
        if isinstance(layer, FeedForwardLayer):
            made = _feed_forward(layer)
            if made.writes.any():
                yield made
        else:
            heads = tuple(_heads(layer, view))
            if heads:
                yield Attention(heads)


def _feed_forward(layer: FeedForwardLayer) -> FeedForward:
    """Without the units that write nothing: what they compute is lost."""
    used = layer.W_2.any(axis=0)
    return FeedForward(layer.W_1[used], layer.b_1[used], layer.W_2[:, used], layer.b_2)


def _heads(layer: AttentionLayer, view: tuple[Neighbours, ...] | None) -> Iterator[Head]:
    for h in range(len(layer.W_O)):
        if not layer.W_O[h].any():
            continue
        head = Head(layer.W_Q[h], layer.b_Q[h], layer.W_K[h], layer.W_V[h], layer.W_O[h])
        yield head if view is None else replace(head, sees=_sees(view[h % len(view)]))


def _sees(neighbours: Neighbours) -> Booleans:
    seen = np.zeros((neighbours.tokens, neighbours.tokens), dtype=np.bool_)
    for query in range(neighbours.tokens):
        seen[query, neighbours.keys_of(query)] = True
    return seen
