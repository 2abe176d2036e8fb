"""The fewest arcs that make a graph strongly connected.

Reference: K. P. Eswaran and R. E. Tarjan, Augmentation problems, SIAM Journal on Computing 5 (1976).
"""

from collections.abc import Iterator
from itertools import pairwise

from anyformer.patterns.universality.connectivity import Components


def strongest_bound(parts: Components) -> int:
    """How many arcs it takes at least: every source needs one in, every sink one out, an isolated component both."""
    if parts.count == 1:
        return 0
    return max(len(parts.sources()), len(parts.sinks()))


def strongly_connecting_arcs(parts: Components) -> tuple[tuple[int, int], ...]:
    """Arcs (query, key), as many as `strongest_bound`, after which every token can learn from every other.

    As many sources as possible are paired with different sinks that they flow to. The pairs are chained to a ring. The
    remaining sinks, sources and isolated components are inserted into the ring, so that each gets its arc.
    """
    if parts.count == 1:
        return ()
    sources, sinks = set(parts.sources().tolist()), set(parts.sinks().tolist())
    alone = sorted(sources & sinks)
    starts, ends, paired = _paired(parts, sorted(sources - sinks), sinks - sources)
    arcs = _ring(starts, ends, paired, alone)
    return tuple((parts.member(after), parts.member(before)) for before, after in arcs)


def _paired(parts: Components, sources: list[int], sinks: set[int]) -> tuple[list[int], list[int], int]:
    """Sources, sinks and the number of pairs: the first so many sources flow to the sinks at the same places."""
    pairs = dict(_pairs(parts, sources, sinks))
    starts = [*pairs, *(source for source in sources if source not in pairs)]
    ends = [*pairs.values(), *sorted(sinks - set(pairs.values()))]
    return starts, ends, len(pairs)


def _pairs(parts: Components, sources: list[int], sinks: set[int]) -> Iterator[tuple[int, int]]:
    """Each source searches depth first, skipping what earlier sources have searched, and stops at the first sink.

    Whatever has been searched flows to a sink that was found: it lies on the way to one, or all that it flows to had
    been searched before. So a source that finds none flows to a paired sink; and a sink that is not found lies behind
    something searched from a paired source, the first of all sources being paired.
    """
    if len(sources) == 1 or len(sinks) == 1:
        yield sources[0], min(sinks)  # one source flows to all sinks, one sink is flowed to by all sources
        return
    flow, visited = _flow(parts), set[int]()
    for source in sources:
        sink = _first_sink(flow, source, sinks, visited)
        if sink is not None:
            yield source, sink


def _flow(parts: Components) -> dict[int, list[int]]:
    flow: dict[int, list[int]] = {}
    for before, after in parts.flow():
        flow.setdefault(before, []).append(after)
    return flow


def _first_sink(flow: dict[int, list[int]], source: int, sinks: set[int], visited: set[int]) -> int | None:
    stack = [source]
    while stack:
        component = stack.pop()
        if component in visited:
            continue
        visited.add(component)
        if component in sinks:
            return component
        stack.extend(flow.get(component, ()))
    return None


def _ring(starts: list[int], ends: list[int], paired: int, alone: list[int]) -> list[tuple[int, int]]:
    """Arcs (from, to) along the flow."""
    if not starts:
        return list(pairwise([*alone, alone[0]]))
    both = min(len(starts), len(ends))
    arcs = [(ends[i], starts[i + 1]) for i in range(paired - 1)]
    arcs += [(ends[i], starts[i]) for i in range(paired, both)]
    # The remaining components go on the arc that closes the ring: sinks or sources, then the isolated ones.
    chain = [ends[paired - 1], *ends[both:], *starts[both:], *alone, starts[0]]
    return arcs + list(pairwise(chain))
