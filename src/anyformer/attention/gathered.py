"""Sparse attention in plain PyTorch, on any device: the keys of each tile are gathered, and tiles are done in batches.

Tiles with about as many keys form a *bucket*: queries (tiles, 32), keys (tiles, longest), and a mask of their pairs.
Rows become tiles of one query. Memory is linear in the number of tokens, and the workspace is bounded.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from anyformer.arrays import Booleans, Integers
from anyformer.patterns.tiling.compiler import Prices
from anyformer.patterns.tiling.parts import QUERIES, Indices, Tiling

PRICES: Final = Prices(row_pair=12.0, merge=100.0)
"""Of batched products, which are poor at single pairs and at merging."""

_LONGER: Final = 1.3  # keys of the longest tile of a bucket, in those of the shortest
_WORKSPACE: Final = 2**23  # numbers gathered at once


class Bucket(NamedTuple):
    """Tiles that are done together; a query that is nobody is −1."""

    queries: Tensor  # (tiles, queries)
    keys: Tensor  # (tiles, keys)
    mask: Tensor  # (tiles, queries, keys)


def tensors_of(tiling: Tiling) -> list[Tensor]:
    """The tiling as tensors: three for each bucket."""
    found: list[Tensor] = []
    for part in tiling.tiles:
        bits = part.masks[:, None] >> np.arange(QUERIES, dtype=np.uint32) & np.uint32(1)
        found += _buckets(part.queries.astype(np.int64), part.starts, part.keys, bits.astype(np.bool_))
    if tiling.rows is not None:
        seeing = np.flatnonzero(np.diff(tiling.rows.starts))
        starts = np.append(tiling.rows.starts[seeing], tiling.rows.starts[-1])
        found += _buckets(seeing[:, None], starts, tiling.rows.keys, np.ones((len(tiling.rows.keys), 1), np.bool_))
    return found


def pairs_computed(tiling: Tiling) -> int:
    """In one head; the tiles of a bucket are as long as its longest one."""
    tensors = tensors_of(tiling)
    return sum(queries.numel() * keys.shape[1] for queries, keys in zip(tensors[::3], tensors[1::3], strict=True))


def forward(
    q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, tiling: Sequence[Tensor], scale: float
) -> tuple[Tensor, Tensor]:
    """Outputs (heads, tokens, head_size) and levels (heads, tokens): the logarithm of the sum of a query's weights."""
    out, level = torch.zeros_like(q), q.new_full(q.shape[:2], -torch.inf)
    for bucket in _in_pieces(tiling, q):
        scores = _scores(q, k, keep, bucket, scale)
        its_level = scores.logsumexp(dim=-1)
        mixed = torch.matmul(_weights(scores, its_level), _rows(v, bucket.keys))
        real, queries = _real(bucket)
        mixed, its_level = mixed.flatten(1, 2)[:, real], its_level.flatten(1, 2)[:, real]
        old = level[:, queries]
        new = torch.logaddexp(old, its_level)
        finite = new.masked_fill(new.isneginf(), 0.0)
        merged = out[:, queries] * (old - finite).exp()[..., None] + mixed * (its_level - finite).exp()[..., None]
        out.index_copy_(1, queries, merged)
        level.index_copy_(1, queries, new)
    return out, level


def backward(
    back: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, level: Tensor, keep: Tensor | None,
    tiling: Sequence[Tensor], scale: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of q, k and v."""
    dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
    drift = torch.linalg.vecdot(back, out)
    for bucket in _in_pieces(tiling, q):
        its_level, its_drift = (_rows(x[..., None], bucket.queries) for x in (level, drift))
        weights = _weights(_scores(q, k, keep, bucket, scale), its_level.squeeze(-1))
        its_back, its_keys, its_queries = _rows(back, bucket.queries), _rows(k, bucket.keys), _rows(q, bucket.queries)
        _add(dv, bucket.keys, torch.matmul(weights.transpose(-1, -2), its_back))
        changes = torch.matmul(its_back, _rows(v, bucket.keys).transpose(-1, -2)).sub_(its_drift).mul_(weights)
        changes.mul_(scale)
        _add(dk, bucket.keys, torch.matmul(changes.transpose(-1, -2), its_queries))
        # A query that is nobody has no weights, so that nothing is added for it.
        _add(dq, bucket.queries.clamp(min=0), torch.matmul(changes, its_keys))
    return dq, dk, dv


def _scores(q: Tensor, k: Tensor, keep: Tensor | None, bucket: Bucket, scale: float) -> Tensor:
    """(heads, tiles, queries, keys): −∞ where a query does not see a key."""
    scores = torch.matmul(_rows(q, bucket.queries) * scale, _rows(k, bucket.keys).transpose(-1, -2))
    seen = bucket.mask
    if keep is not None:
        kept = keep.bool()[:, bucket.keys][:, :, None, :]  # (batch, tiles, 1, keys)
        seen = (seen & kept).repeat_interleave(len(q) // len(keep), dim=0)
    return scores.masked_fill_(~seen, -torch.inf)


def _weights(scores: Tensor, level: Tensor) -> Tensor:
    """exp(scores − level), and 0 where nothing is seen."""
    return (scores - level.masked_fill(level.isneginf(), 0.0)[..., None]).exp_()


def _rows(x: Tensor, places: Tensor) -> Tensor:
    """(heads, tokens, width) at places (tiles, some), any token where a place is nobody's."""
    found = x.index_select(1, places.clamp(min=0).flatten())
    return found.unflatten(1, tuple(places.shape))


def _add(x: Tensor, places: Tensor, moves: Tensor) -> None:
    x.index_add_(1, places.flatten(), moves.flatten(1, 2))


def _real(bucket: Bucket) -> tuple[Tensor, Tensor]:
    """Which of the queries of all tiles are somebody, and who."""
    flat = bucket.queries.flatten()
    real = torch.nonzero(flat >= 0).squeeze(1)
    return real, flat[real]


def _in_pieces(tiling: Sequence[Tensor], q: Tensor) -> Iterator[Bucket]:
    """The buckets, cut so that what is gathered for a piece fits into the workspace."""
    heads, _, width = q.shape
    for first in range(0, len(tiling), 3):
        queries, keys, mask = tiling[first : first + 3]
        per_tile = heads * (queries.shape[1] * keys.shape[1] + (2 * keys.shape[1] + queries.shape[1]) * width)
        step = max(1, _WORKSPACE // per_tile)
        for start in range(0, len(queries), step):
            yield Bucket(*(x[start : start + step] for x in (queries, keys, mask)))


def _buckets(queries: Integers, starts: Integers, keys: Indices, seen: Booleans) -> list[Tensor]:
    """Tiles sorted by their number of keys, and cut where it has grown by more than `_LONGER`."""
    counts, tensors = np.diff(starts), []
    order = np.argsort(counts, kind="stable")
    first = 0
    while first < len(order):
        most = max(counts[order[first]] * _LONGER, counts[order[first]] + 8)
        last = int(np.searchsorted(counts[order], most, side="right"))
        tiles = order[first:last]
        places = np.arange(counts[tiles].max())
        filled = places < counts[tiles][:, None]
        source = np.where(filled, starts[tiles][:, None] + places, 0)
        mask = (seen[source] & filled[..., None]).transpose(0, 2, 1)
        named = np.where(filled, keys[source], 0).astype(np.int64)
        tensors += [torch.from_numpy(np.ascontiguousarray(x)) for x in (queries[tiles], named, mask)]
        first = last
    return tensors
