"""The cheapest pattern that is universal within so many layers and carries so much.

All candidates are ordered by what they cost, the pairs that a layer executes. Then they are taken in this order, and
those that do not mix all tokens in time are left out. By the averaging theorem (docs/sparse.md) the others are
universal: all their lists have keys, and every output depends on every input after s layers.
"""

import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from anyformer.errors import PatternError
from anyformer.patterns.bottlenecks.capacity import MOST_CONNECTIONS, Capacity
from anyformer.patterns.bottlenecks.capacity import capacity as capacity_of
from anyformer.patterns.designing.candidates import LONGEST_FULL, candidates
from anyformer.patterns.exchange.json_form import to_json
from anyformer.patterns.exchange.notation import in_short
from anyformer.patterns.families.combinators import Causal
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.families.windows import Full
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.sizes import length, whole_number
from anyformer.patterns.tiling.compiler import tiling_of
from anyformer.patterns.universality.reach import hops_within

ENOUGH: Final = 8  # the search goes on until there are so many patterns to choose from


@final
@dataclass(frozen=True)
class DesignOption:
    """A pattern that is universal within the layers asked for, what it costs and what it carries."""

    family: PatternFamily
    executed: float  # pairs a layer, the mean over the layers of a period and the lists of a layer
    connections: float  # likewise
    hops: int  # the smallest s
    capacity: Capacity

    @property
    def carried(self) -> int:
        """What is proved to cross between the halves that were tried; 0 if it was not computed."""
        return self.capacity.value or 0


@final
@dataclass(frozen=True)
class Design:
    """Patterns for one purpose in order of their cost."""

    tokens: int
    layers: int
    capacity: int  # what was asked for
    causal: bool
    options: tuple[DesignOption, ...]  # all that are universal in time, up to the last one that was needed
    too_slow: int  # how many cheaper candidates take more layers

    @property
    def fitting(self) -> tuple[DesignOption, ...]:
        """The options that carry enough, the cheapest first."""
        return tuple(option for option in self.options if option.carried >= self.capacity)

    @property
    def best(self) -> DesignOption:
        """The cheapest pattern that carries enough."""
        return self.fitting[0]

    @property
    def front(self) -> tuple[DesignOption, ...]:
        """The options that carry more than all cheaper ones: one of them is the cheapest for any capacity."""
        front = list[DesignOption]()
        for option in self.options:
            if not front or option.carried > front[-1].carried:
                front.append(option)
        return tuple(front)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        asked = {"tokens": self.tokens, "layers": self.layers, "capacity": self.capacity, "causal": self.causal}
        options = [
            {
                "pattern": in_short(option.family),
                "description": to_json(option.family),
                "executed_pairs": option.executed,
                "connections": option.connections,
                "hops": option.hops,
                "capacity": option.capacity.value,
                "fits": option.carried >= self.capacity,
            }
            for option in self.options
        ]
        return {**asked, "best": in_short(self.best.family), "options": options, "too_slow": self.too_slow}


def design(tokens: int, layers: int = 2, capacity: int = 0, causal: bool = False) -> Design:
    """The cheapest pattern that is universal with s ≤ `layers` and carries at least `capacity` messages.

    >>> found = design(tokens=64, layers=2, capacity=20)
    >>> found.best.hops, found.best.carried >= 20, found.best.executed < 64 * 64 / 4
    (2, True, True)

    Args:
        tokens: the length of the sequences.
        layers: how many layers the network has: s must not be larger, and messages cross in so many.
        capacity: how many messages are to cross from a half to the other, at most half of the tokens.
        causal: whether no token may see a later one; then it is universal among causal functions.

    Returns:
        The patterns to choose from in order of their executed pairs; `best` is the cheapest.
    """
    tokens, layers = length(tokens), whole_number("layers", layers, least=1)
    capacity = whole_number("capacity", capacity, least=0)
    if capacity > tokens // 2:
        raise PatternError(
            f"the capacity must be at most {tokens // 2}, as many as half of {tokens} tokens send; got {capacity}."
        )
    options, too_slow = list[DesignOption](), 0
    for candidate in _in_order_of_cost(tokens, causal):
        option = _option(candidate, tokens, layers, causal)
        if option is None:
            too_slow += 1
            continue
        options.append(option)
        if option.carried == tokens // 2 and sum(each.carried >= capacity for each in options) >= ENOUGH:
            break
    return Design(tokens, layers, capacity, causal, tuple(options), too_slow)


def executed_pairs(pattern: SparsityPattern) -> float:
    """How many pairs (query, key) a layer computes, the mean over the lists of a layer and the layers of a period."""
    return float(np.mean([np.mean([tiling_of(one).executed for one in layer]) for layer in pattern.layers]))


@dataclass(frozen=True)
class _Costed:
    family: PatternFamily
    executed: float
    connections: float


def _in_order_of_cost(tokens: int, causal: bool) -> Iterator[_Costed]:
    """The candidates, each once, however it is described; full attention last of all, which always fits."""
    # All connections are executed, so that their number is a bound: a pattern is tiled when its turn comes by this.
    counted = list(_counted(tokens, causal))
    waiting = [(connections, False, place) for place, (_, connections) in enumerate(counted)]
    heapq.heapify(waiting)
    while waiting:
        cost, is_exact, place = heapq.heappop(waiting)
        family, connections = counted[place]
        if is_exact:
            yield _Costed(family, cost, connections)
        else:
            heapq.heappush(waiting, (executed_pairs(family.at(tokens)), True, place))
    if tokens > LONGEST_FULL:
        full = Causal(Full()) if causal else Full()
        pairs = tokens * (tokens + 1) / 2 if causal else float(tokens**2)
        yield _Costed(full, executed_pairs(full.at(tokens)), pairs)


def _counted(tokens: int, causal: bool) -> Iterator[tuple[PatternFamily, float]]:
    """The candidates and their connections a layer; of several that are the same pattern only the first."""
    seen = set[bytes]()
    for family in candidates(tokens, causal):
        pattern = family.at(tokens)
        digest = _digest(pattern)
        if digest not in seen:
            seen.add(digest)
            counts = [np.mean([one.connections for one in layer]) for layer in pattern.layers]
            yield family, float(np.mean(counts))


def _digest(pattern: SparsityPattern) -> bytes:
    """The same for equal patterns."""
    told = hashlib.blake2b(digest_size=16)
    for layer in pattern.layers:
        told.update(b"layer")
        for one in layer:
            told.update(one.indptr.tobytes())
            told.update(one.indices.tobytes())
    return told.digest()


def _option(candidate: _Costed, tokens: int, layers: int, causal: bool) -> DesignOption | None:
    pattern = candidate.family.at(tokens)
    assert all(one.loops().all() for one in pattern.lists()), "every token of a candidate sees itself"
    hops = hops_within(pattern.seen, layers, tokens - np.arange(tokens) if causal else None)
    if hops is None:
        return None
    return DesignOption(candidate.family, candidate.executed, candidate.connections, hops, _carried(pattern, layers))


def _carried(pattern: SparsityPattern, layers: int) -> Capacity:
    """The capacity in so many layers, or in as many as are followed: more layers carry no less."""
    followed = connections = 0
    while followed < layers and connections + pattern.layer(followed).connections <= MOST_CONNECTIONS:
        connections += pattern.layer(followed).connections
        followed += 1
    return capacity_of(pattern, max(1, followed))
