"""From a list of neighbours to its tiling, by the rows alone: every pattern goes the same way.

A pair in a tile costs little, but a tile computes all pairs of its queries and keys; a pair in a row costs more, and
nothing else is computed. Queries are put in an order in which neighbours share keys, cut into tiles of 32, and a key
joins a tile if enough of its queries see it. What is left is cut again in another order, or done row by row.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np

from anyformer.arrays import Booleans, Integers
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.tiling.ordering import by_shared_keys
from anyformer.patterns.tiling.parts import NOBODY, QUERIES, Indices, Rows, Tiles, Tiling


@final
@dataclass(frozen=True)
class Prices:
    """What a back end pays, in units of a pair in a tile (all measured)."""

    row_pair: float  # a pair in a row
    merge: float  # a query that has parts to be merged


COMPILED: Final = Prices(row_pair=2.5, merge=6.0)
"""Of compiled loops, which are almost as good at single pairs as at tiles."""

# How many parts of tiles there may be, besides that of rows which see much more than the others.
_ROUNDS: Final = 2
# A key joins a tile if a quarter of its queries see it, unless it is cheaper to take all.
_SHARES: Final = (0.0, 0.25)
# A part of tiles must hold this share of what is left, or there is none.
_WORTHWHILE: Final = 0.3
# An order other than the tokens' own must save this share.
_SAVING: Final = 0.02


def tiling_of(neighbours: Neighbours, prices: Prices = COMPILED) -> Tiling:
    """The parts in which this list is executed; the same at every call.

    Args:
        neighbours: one list of a pattern.
        prices: what pairs and merging cost where it will be executed.
    """
    tokens, parts, alone = neighbours.tokens, [], []
    left = _Pairs(neighbours.queries(), neighbours.indices)
    far = _far_seeing(neighbours)
    if far.any():
        wide, left = left.where(far[left.queries]), left.where(~far[left.queries])
        if far.sum() * prices.row_pair < -(-far.sum() // QUERIES) * QUERIES:
            alone.append(wide)
        else:
            parts.append(_cut(wide, np.flatnonzero(far), tokens, share=0.0)[0])
    for _ in range(_ROUNDS):
        choice = _cheapest(left, tokens, prices)
        if choice is None:
            break
        part, left = _cut(left, choice.order, tokens, choice.share)
        parts.append(part)
    return Tiling(tokens, tuple(parts), _rows([*alone, left], tokens))


class _Pairs(NamedTuple):
    """Pairs (query, key), sorted by queries, then keys."""

    queries: Integers
    keys: Integers

    def where(self, keep: Booleans) -> "_Pairs":
        return _Pairs(self.queries[keep], self.keys[keep])


@dataclass(frozen=True, eq=False)
class _Columns:
    """All pairs of an order of queries, sorted by tile and key: a column is a key in a tile."""

    entries: Integers  # which pair each one is
    codes: Integers  # (columns,) tile · tokens + key
    starts: Integers  # (columns,) first entry of each
    counts: Integers  # (columns,) how many queries of the tile see the key


@dataclass(frozen=True, eq=False)
class _Choice:
    order: Integers
    share: float
    cost: float


def _far_seeing(neighbours: Neighbours) -> Booleans:
    """Queries that see much more than the others: in a tile with these they would have all keys computed for all."""
    degrees = neighbours.degrees
    far = np.asarray(degrees > max(8 * np.median(degrees), neighbours.tokens // 4))
    return far if far.sum() <= neighbours.tokens // 8 else np.zeros_like(far)


def _cheapest(pairs: _Pairs, tokens: int, prices: Prices) -> _Choice | None:
    """The order and share at which tiles and what is left to rows cost least; None where rows alone cost less."""
    total = len(pairs.keys)
    if not total:
        return None
    best, kept_by_best = None, 0
    for order in (np.arange(tokens), by_shared_keys(pairs.queries, pairs.keys, tokens)):
        counts = _columns(pairs, order, tokens).counts
        for share in _SHARES:
            taken = counts >= share * QUERIES
            kept = int(counts[taken].sum())
            rest = (total - kept) * prices.row_pair + (prices.merge * tokens if kept < total else 0.0)
            cost = int(taken.sum()) * QUERIES + rest
            if best is None or cost < (1 - _SAVING) * best.cost:
                best, kept_by_best = _Choice(order, share, cost), kept
    assert best is not None
    return best if kept_by_best >= _WORTHWHILE * total and best.cost <= prices.row_pair * total else None


def _columns(pairs: _Pairs, order: Integers, tokens: int) -> _Columns:
    place = np.empty(tokens, dtype=np.int64)
    place[order] = np.arange(len(order))
    codes = place[pairs.queries] // QUERIES * tokens + pairs.keys
    entries = np.argsort(codes, kind="stable")
    codes = codes[entries]
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    return _Columns(entries, codes[starts], starts, np.diff(np.append(starts, len(codes))))


def _cut(pairs: _Pairs, order: Integers, tokens: int, share: float) -> tuple[Tiles, _Pairs]:
    """Tiles of the queries in this order, which has every query of the pairs, and the pairs that are left over."""
    columns = _columns(pairs, order, tokens)
    taken = columns.counts >= share * QUERIES
    place = np.empty(tokens, dtype=np.int64)
    place[order] = np.arange(len(order))
    bits = np.uint32(1) << (place[pairs.queries[columns.entries]] % QUERIES).astype(np.uint32)
    masks = np.bitwise_or.reduceat(bits, columns.starts)[taken]
    codes = columns.codes[taken]
    used, tile_of = np.unique(codes // tokens, return_inverse=True)
    starts = np.concatenate([[0], np.cumsum(np.bincount(tile_of, minlength=len(used)))])
    left = np.sort(columns.entries[~np.repeat(taken, columns.counts)])
    tiles = Tiles(_filled(order)[used], starts, (codes % tokens).astype(np.int32), masks)
    return tiles, _Pairs(pairs.queries[left], pairs.keys[left])


def _filled(order: Integers) -> Indices:
    """The order in rows of 32, the last one filled up."""
    full = np.full(-(-len(order) // QUERIES) * QUERIES, NOBODY, dtype=np.int32)
    full[: len(order)] = order
    return full.reshape(-1, QUERIES)


def _rows(parts: list[_Pairs], tokens: int) -> Rows | None:
    queries, keys = (np.concatenate(each) for each in zip(*parts, strict=True))
    if not len(keys):
        return None
    sorted_pairs = np.argsort(queries * tokens + keys)
    starts = np.concatenate([[0], np.cumsum(np.bincount(queries, minlength=tokens))])
    return Rows(starts, keys[sorted_pairs].astype(np.int32))
