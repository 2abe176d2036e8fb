"""Which connections to add so that a pattern meets Assumption 1, or at least its conditions 1 and 3."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from anyformer.arrays import Booleans, Integers
from anyformer.patterns.neighbours import Neighbours, from_pairs, united
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.universality.augmentation import strongest_bound, strongly_connecting_arcs
from anyformer.patterns.universality.conditions import Answer, SelfLoops, TokenPath
from anyformer.patterns.universality.connectivity import Components, components
from anyformer.patterns.universality.matching import matched_keys
from anyformer.patterns.universality.solver import Cover, smallest_cover
from anyformer.patterns.universality.witnesses import MissingLoop

_SOLVER_TOKENS = 64  # up to here a path cover that may not be the smallest is handed to the solver


@final
@dataclass(frozen=True)
class Repair:
    """Connections to add: self-loops where they are missing, and `arcs` (query, key) to any one list of any layer.

    It is the smallest found; `proved_smallest` says whether fewer are proved to be impossible.
    """

    loops: tuple[MissingLoop, ...]
    arcs: tuple[tuple[int, int], ...]
    proved_smallest: bool

    @property
    def connections(self) -> int:
        """How many connections it adds."""
        return len(self.loops) + len(self.arcs)

    def __str__(self) -> str:
        shown = [f"token {query} looks at {key}" for query, key in self.arcs[:6]] + ["…"] * (len(self.arcs) > 6)
        loops = [f"{len(self.loops)} self-loops"] if self.loops else []
        proof = "" if self.proved_smallest else ", not proved to be the fewest"
        return f"add {self.connections} connections{proof}: {', '.join(loops + shown)}"

    def applied(self, pattern: SparsityPattern) -> SparsityPattern:
        """The pattern with these connections added, the arcs to the first list of layer 0."""
        extra = {
            (layer, head): list[tuple[int, int]]()
            for layer, lists in enumerate(pattern.layers)
            for head in range(len(lists))
        }
        for loop in self.loops:
            extra[loop.layer, loop.head].append((loop.token, loop.token))
        extra[0, 0].extend(self.arcs)
        return SparsityPattern(
            tuple(
                tuple(_with(one, extra[layer, head]) for head, one in enumerate(lists))
                for layer, lists in enumerate(pattern.layers)
            )
        )


def repair_without_path(loops: SelfLoops, parts: Components) -> Repair:
    """Self-loops and as few arcs as connect all tokens both ways: enough for conditions 1 and 3 and for averaging."""
    return Repair(loops.missing, strongly_connecting_arcs(parts), proved_smallest=True)


def repair_for_paper_b(
    seen: Neighbours, parts: Components, loops: SelfLoops, path: TokenPath, seconds: float
) -> Repair:
    """Self-loops, arcs that join a cover by few paths to a single γ, and one from its end to its start if need be.

    A γ makes every token reach all later ones, so that this last arc makes everything reach everything.
    Fewer arcs than (paths of the smallest cover − 1), or than Eswaran and Tarjan's bound, cannot be enough.

    Args:
        seen: which keys each query sees in any layer.
        parts: its components.
        loops: what the checker says of condition 1.
        path: what the checker says of condition 2.
        seconds: for the solver, where a smaller cover may exist.
    """
    paths: tuple[Integers, ...]
    if path.answer is Answer.HOLDS:
        paths, fewest = (np.array(path.gamma, dtype=np.int64),), 1
    else:
        paths, fewest = _cover(seen, parts, path, seconds)
    joins = [(int(after[0]), int(before[-1])) for before, after in pairwise(paths)]
    if (components(_with(seen, joins)) if joins else parts).count > 1:
        joins.append((int(paths[0][0]), int(paths[-1][-1])))
    return Repair(loops.missing, tuple(joins), len(joins) == max(fewest - 1, strongest_bound(parts)))


def _cover(seen: Neighbours, parts: Components, path: TokenPath, seconds: float) -> tuple[tuple[Integers, ...], int]:
    """Paths that visit every token once, and a proved bound on how few there can be.

    All tokens of a path but its first are matched to the one before. Nothing flows into a source, so that a path which
    visits it starts there; likewise it ends in a sink.
    """
    before = matched_keys(seen)
    paths = min(_along(before), _walks(seen), key=len)
    ends = (int((before < 0).sum()), len(parts.sources()), len(parts.sinks()))
    fewest = max(*ends, 2 if path.answer is Answer.FAILS else 1)
    if len(paths) > fewest and seen.tokens <= _SOLVER_TOKENS:
        cover = smallest_cover(seen, seconds)
        if isinstance(cover, Cover):
            fewest = len(cover.paths) if cover.proved_smallest else fewest
            paths = min(paths, list(cover.paths), key=len)
    return tuple(paths), fewest


def _walks(seen: Neighbours) -> list[Integers]:
    """Paths from the first token left, forwards and then backwards, each time to the first neighbour left."""
    seers, left, paths = seen.transposed(), np.ones(seen.tokens, dtype=np.bool_), list[Integers]()
    for start in range(seen.tokens):
        if left[start]:
            left[start] = False
            path = [*reversed(_walk(start, seen, left)), start, *_walk(start, seers, left)]
            paths.append(np.array(path, dtype=np.int64))
    return paths


def _walk(token: int, following: Neighbours, left: Booleans) -> list[int]:
    """What comes after the token, taken off `left` on the way."""
    path = list[int]()
    while (free := following.keys_of(token)[left[following.keys_of(token)]]).size:
        token = int(free[0])
        left[token] = False
        path.append(token)
    return path


def _along(before: Integers) -> list[Integers]:
    """The paths that follow `before`, the token before each one or −1; a cycle is cut where it is met first."""
    after = {int(key): query for query, key in enumerate(before) if key >= 0}
    starts = [*np.flatnonzero(before < 0).tolist(), *range(len(before))]
    paths, visited = list[Integers](), set[int]()
    for start in starts:
        path, token = list[int](), start
        while token is not None and token not in visited:
            visited.add(token)
            path.append(token)
            token = after.get(token)
        if path:
            paths.append(np.array(path, dtype=np.int64))
    return paths


def _with(neighbours: Neighbours, pairs: Sequence[tuple[int, int]]) -> Neighbours:
    if not pairs:
        return neighbours
    queries, keys = zip(*pairs, strict=True)
    return united([neighbours, from_pairs(neighbours.tokens, queries, keys)])
