"""Condition 3 for sequences too long to follow every pair of tokens: s between two bounds, exact where they meet.

*From below*: what one source needs to reach all tokens, for a few sources; s is the largest over all sources.

*From above*: every source tells one token, the hub, and the hub tells all. If every source has reached the hub after t
hops, and from then on the hub reaches every token within u, then s ≤ t + u. With self-loops nothing is forgotten on
the way, and a relay that sees all and is seen by all in a layer of its own gives s ≤ 2. The bound p(n − 1) of any
strongly connected pattern holds too.

Both are distances in the graph of (token, phase), where the phase is the layer that comes next: one search each.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.exchange.arrays import csr
from anyformer.patterns.neighbours import Neighbours, from_pairs
from anyformer.patterns.universality.conditions import Answer, Reach
from anyformer.patterns.universality.reach import expected_nanoseconds, smallest_hops

_AFFORDABLE = 1.2e10  # nanoseconds that following every pair may be expected to take
_MOST_PHASES = 2**22  # nodes of all searches from one hub; beyond, a hub is tried in one phase only


def long_reach(layers: Sequence[Neighbours]) -> Reach:
    """The smallest s, or bounds on it if it would take long to work out.

    Args:
        layers: what each of the cyclic layers can see; all with self-loops, their union strongly connected.
    """
    at_least, at_most = hop_bounds(layers)
    if at_least < at_most and expected_nanoseconds(layers, at_most) <= _AFFORDABLE:
        at_least = at_most = smallest_hops(layers)
    if at_least == at_most:
        return Reach(Answer.HOLDS, at_most, at_most, at_least=at_least)
    return Reach(
        Answer.HOLDS,
        at_least=at_least,
        at_most=at_most,
        reason="the smallest s of so many tokens is worked out only where that takes seconds",
    )


def hop_bounds(layers: Sequence[Neighbours]) -> tuple[int, int]:
    """Two numbers between which s lies; arguments as of `long_reach`."""
    tokens, flow = layers[0].tokens, _Flow(layers)
    hubs = dict.fromkeys((_busiest(layers), tokens // 2))
    first = [flow.outwards(hub, 0) for hub in hubs]
    sources = dict.fromkeys((*(int(np.argmax(times)) for times in first), 0, tokens - 1, tokens // 3))
    at_least = max(int(times.max()) for times in (*first, *(flow.outwards(source, 0) for source in sources)))
    through = (
        int(flow.inwards(hub, phase).max() + flow.outwards(hub, phase).max()) for hub in hubs for phase in flow.phases
    )
    return max(1, at_least), max(1, min(len(layers) * (tokens - 1), *through))


class _Flow:
    """What flows where: node (phase, token) leads to (phase + 1, each token that sees it in that layer)."""

    def __init__(self, layers: Sequence[Neighbours]) -> None:
        self.tokens, self.period = layers[0].tokens, len(layers)
        queries = np.concatenate(
            [(phase + 1) % self.period * self.tokens + one.queries() for phase, one in enumerate(layers)]
        )
        keys = np.concatenate([phase * self.tokens + one.indices for phase, one in enumerate(layers)])
        self._into = csr(from_pairs(self.tokens * self.period, queries, keys))
        self._out = self._into.T.tocsr()

    @property
    def phases(self) -> range:
        """In which a hub is tried: a relay is fastest right after the layer in which it sees all."""
        return range(self.period if self.tokens * self.period**2 <= _MOST_PHASES else 1)

    def outwards(self, token: int, phase: int) -> Integers:
        """After how many hops each token has heard of this one, if it speaks first in this phase; shape (tokens,)."""
        return np.asarray(self._depths(self._out, token, phase).min(axis=0))

    def inwards(self, token: int, phase: int) -> Integers:
        """After how many hops this token has heard of each, at a hop that ends in this phase; shape (tokens,)."""
        return np.asarray(self._depths(self._into, token, phase)[0])

    def _depths(self, graph: Any, token: int, phase: int) -> Integers:
        """The distance of every node, shape (period, tokens).

        In the order of a breadth-first search the parents' places rise, so that a level ends where the parents are past
        the level before.
        """
        from scipy.sparse.csgraph import breadth_first_order

        order, parents = breadth_first_order(graph, phase * self.tokens + token)
        place = np.empty(graph.shape[0], dtype=np.int64)
        place[order] = np.arange(len(order))
        rising, ends = place[parents[order[1:]]], [0, 1]
        while ends[-1] < len(order):
            ends.append(1 + int(np.searchsorted(rising, ends[-1])))
        depths = np.empty(graph.shape[0], dtype=np.int64)
        depths[order] = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        return depths.reshape(self.period, self.tokens)


def _busiest(layers: Sequence[Neighbours]) -> int:
    """The token that sees most and is seen most, over all layers."""
    counts = [seen.degrees + np.bincount(seen.indices, minlength=seen.tokens) for seen in layers]
    return int(np.argmax(np.sum(counts, axis=0)))
