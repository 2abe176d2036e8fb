"""Which tokens can ever learn from which. Information flows from key to query, against the direction of looking."""

import graphlib
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import final

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.exchange.arrays import csr
from anyformer.patterns.neighbours import Neighbours, each_once


@final
@dataclass(frozen=True, eq=False)
class Components:
    """The strongly connected components of a list of neighbours: within one, every token learns from every other."""

    labels: Integers  # (tokens,): the component of every token
    queries: Integers  # (arcs between components,): the component that looks
    keys: Integers  # (arcs between components,): the component that is looked at

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.labels.max()) + 1

    def sources(self) -> Integers:
        """Components that look at no other: nothing ever flows in."""
        return np.flatnonzero(np.bincount(self.queries, minlength=self.count) == 0)

    def sinks(self) -> Integers:
        """Components that no other looks at: nothing ever flows out."""
        return np.flatnonzero(np.bincount(self.keys, minlength=self.count) == 0)

    def member(self, component: int) -> int:
        """The first token of a component."""
        return int(self._first[component])

    @cached_property
    def _first(self) -> Integers:
        return np.unique(self.labels, return_index=True)[1]

    def order(self) -> list[int]:
        """The components along the flow: each after all that flow into it."""
        into: dict[int, list[int]] = {component: [] for component in range(self.count)}
        for key, query in self.flow():
            into[query].append(key)
        return list(graphlib.TopologicalSorter(into).static_order())

    def flow(self) -> list[tuple[int, int]]:
        """The pairs of components (from, to) between which something flows, each once."""
        pairs = each_once(self.keys * self.count + self.queries)
        return list(zip((pairs // self.count).tolist(), (pairs % self.count).tolist(), strict=True))


def components(neighbours: Neighbours) -> Components:
    """The strongly connected components and the arcs between them."""
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(csr(neighbours), directed=True, connection="strong")
    labels = labels.astype(np.int64)
    if not labels.any():
        return Components(labels, labels[:0], labels[:0])
    queries, keys = np.repeat(labels, neighbours.degrees), labels[neighbours.indices]
    between = queries != keys
    return Components(labels, queries[between], keys[between])


def weak_pieces(neighbours: Neighbours, without: Integers) -> int:
    """The number of weakly connected pieces after some tokens are removed."""
    from scipy.sparse.csgraph import connected_components

    stays = np.ones(neighbours.tokens, dtype=np.bool_)
    stays[without] = False
    rest = neighbours.kept(stays[neighbours.queries()] & stays[neighbours.indices])
    pieces = connected_components(csr(rest), directed=True, connection="weak", return_labels=False)
    return int(pieces) - len(without)  # each removed token is counted as a piece of its own


def unreachable_pair(parts: Components) -> tuple[int, int] | None:
    """Tokens (input, output) such that nothing of the input ever flows to the output, or None if there are none.

    A component that looks at no other learns nothing from outside; if there are several, one of them is such.
    """
    if parts.count == 1:
        return None
    closed = int(parts.labels[np.isin(parts.labels, parts.sources())][0])
    return int(np.argmax(parts.labels != closed)), parts.member(closed)


def incomparable_pair(parts: Components) -> tuple[int, int] | None:
    """Two tokens neither of which ever learns from the other, or None if there are none.

    In an order along the flow, a path from one component to the next passes none between them, so it is an arc.
    """
    order = parts.order()
    arcs = set(parts.flow())
    for before, after in pairwise(order):
        if (before, after) not in arcs:
            return parts.member(before), parts.member(after)
    return None
