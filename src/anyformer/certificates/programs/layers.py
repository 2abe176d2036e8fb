"""The layers of a network as the checker sees them: idle ones left out, cut ones joined again.

A layer that was cut into several, because few hidden units or heads were wanted, is one layer to the checker: as long
as no part reads what an earlier part wrote, all parts together do what the uncut layer does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

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

    def joined(self, other: "Attention") -> "Attention":
        """Both as one."""
        return Attention(self.heads + other.heads, self.parts + other.parts)


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

    def joined(self, other: "FeedForward") -> "FeedForward":
        """Both as one; constants that do not add up exactly are refused later, as two writers of one channel."""
        return FeedForward(
            np.concatenate([self.W_1, other.W_1]),
            np.concatenate([self.b_1, other.b_1]),
            np.concatenate([self.W_2, other.W_2], axis=1),
            self.b_2 + other.b_2,
            self.parts + other.parts,
        )


def joined_layers(network: Network) -> list[Attention | FeedForward]:
    """All layers that do something, neighbours of one kind joined where the later ones read nothing of the earlier."""
    found: list[Attention | FeedForward] = []
    for layer in _layers(network):
        last = found[-1] if found else None
        if isinstance(last, Attention) and isinstance(layer, Attention) and not (layer.reads & last.writes).any():
            found[-1] = last.joined(layer)
            continue
        if isinstance(last, FeedForward) and isinstance(layer, FeedForward) and _joins(last, layer):
            found[-1] = last.joined(layer)
            continue
        found.append(layer)
    return found


def _joins(first: FeedForward, second: FeedForward) -> bool:
    constants = bool(((first.b_2 != 0) & (second.b_2 != 0)).any())
    return not constants and not (second.reads & first.writes).any()


def _layers(network: Network) -> Iterator[Attention | FeedForward]:
    for k, stage in enumerate(network.stages):
        for index, view in enumerate(network.views(k)):
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
