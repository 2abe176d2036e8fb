"""Attention of tiles: 32 queries and their keys, forward and backward."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from anyformer.attention.kernels.compiling import Shape, aligned, inlined
from anyformer.attention.kernels.instructions import differentiate, largest, mix, scores, spread, weigh
from anyformer.patterns.tiling.parts import QUERIES
from anyformer.vector_code import compiled

KEYS_AT_ONCE = 256
"""Scores of so many keys and 32 queries stay in the second-level cache."""


class TileKernels(NamedTuple):
    """Both ways through a range of tiles."""

    forward: Callable[..., None]
    backward: Callable[..., None]


@cache
def tile_kernels(shape: Shape) -> TileKernels:
    """Both ways for this shape of numbers and heads, compiled when first called or read from the cache."""
    return TileKernels(_forward(shape), _backward(shape))


# The products over any number of keys and channels. Sizes come as arguments and are literals where these are called: a
# kernel that held other compiled functions in its closure could not be kept on disk.


@inlined
def _all_scores(size, lanes, rows, matrix, keys, count, width, queries, out):
    """The scores of `count` keys and the 32 queries."""
    if count < rows:
        for j in range(count):
            scores(size, lanes, 1, matrix, keys + 4 * j, width, queries, out + size * QUERIES * j)
    else:
        for j in range(0, count - rows + 1, rows):
            scores(size, lanes, rows, matrix, keys + 4 * j, width, queries, out + size * QUERIES * j)
        if count % rows:  # the last ones again, together with those before them
            last = count - rows
            scores(size, lanes, rows, matrix, keys + 4 * last, width, queries, out + size * QUERIES * last)


@inlined
def _all_mixed(size, lanes, rows, vectors, matrix, keys, count, width, weights, out):
    """The rows of `count` keys, mixed for each of the 32 queries."""
    for c in range(0, width, lanes * vectors):
        for i in range(0, QUERIES, rows):
            place = out + size * (i * width + c)
            mix(
                size, lanes, rows, vectors, matrix + size * c, keys, count, width, weights + size * i, QUERIES, place
            )  # fmt: skip


@inlined
def _all_spread(size, lanes, rows, vectors, matrix, keys, count, width, weights, queries):
    """The rows of the 32 queries, spread over `count` keys."""
    whole = count // rows * rows
    for c in range(0, width, lanes * vectors):
        for j in range(0, whole, rows):
            row = weights + size * QUERIES * j
            spread(size, lanes, rows, vectors, matrix + size * c, keys + 4 * j, width, row, queries + size * c)
        for j in range(whole, count):
            row = weights + size * QUERIES * j
            spread(size, lanes, 1, vectors, matrix + size * c, keys + 4 * j, width, row, queries + size * c)


@inlined
def _kept_masks(masks, keys, keep, batch, out):
    """The masks of these keys, empty for padding; whether any is not empty."""
    found = np.uint32(0)
    for j in range(len(masks)):
        out[j] = masks[j] if keep.shape[0] == 0 or keep[batch, keys[j]] else np.uint32(0)
        found |= out[j]
    return found != 0


def _forward(shape: Shape) -> Callable[..., None]:
    size, lanes, vectors, query_lanes = shape.size, shape.lanes, shape.vectors, shape.query_lanes
    score_rows, mix_rows = shape.score_rows, shape.mix_rows

    def forward(first, last, q, k, v, keep, out, level, queries, starts, keys, masks, scale):
        """Items first to last, an item being a tile of a head; `out` and `level` are merged with what they hold."""
        heads, _, width = q.shape
        per_batch = heads // max(1, keep.shape[0])
        turned = aligned(width * QUERIES, q).reshape(width, QUERIES)
        mixed = aligned(QUERIES * width, q).reshape(QUERIES, width)
        table = aligned(KEYS_AT_ONCE * QUERIES, q)
        top, total, before = aligned(QUERIES, q), aligned(QUERIES, q), aligned(QUERIES, q)
        allowed = np.empty(KEYS_AT_ONCE, np.uint32)
        for item in range(first, last):
            head, tile = item // len(queries), item % len(queries)
            for i in range(QUERIES):
                query = queries[tile, i]
                if query < 0:
                    turned[:, i] = 0
                    continue
                row = q[head, query]
                for c in range(width):
                    turned[c, i] = row[c] * scale
            top[:] = -np.inf
            total[:] = 0
            mixed[:] = 0
            for start in range(starts[tile], starts[tile + 1], KEYS_AT_ONCE):
                stop = min(start + KEYS_AT_ONCE, starts[tile + 1])
                count = stop - start
                if not _kept_masks(masks[start:stop], keys[start:stop], keep, head // per_batch, allowed):
                    continue
                named = keys.ctypes.data + 4 * start
                _all_scores(
                    size,
                    query_lanes,
                    score_rows,
                    k[head].ctypes.data,
                    named,
                    count,
                    width,
                    turned.ctypes.data,
                    table.ctypes.data,
                )
                before[:] = top
                largest(size, query_lanes, table.ctypes.data, allowed.ctypes.data, count, top.ctypes.data)
                for i in range(QUERIES):
                    # What came before is measured from the new largest score; nothing is smaller than nothing.
                    if before[i] != top[i] and before[i] > -np.inf:
                        shrunk = np.exp(before[i] - top[i])
                        total[i] *= shrunk
                        for c in range(width):
                            mixed[i, c] *= shrunk
                    before[i] = top[i] if top[i] > -np.inf else 0
                weigh(size, query_lanes, table.ctypes.data, count, before.ctypes.data, total.ctypes.data)
                _all_mixed(
                    size,
                    lanes,
                    mix_rows,
                    vectors,
                    v[head].ctypes.data,
                    named,
                    count,
                    width,
                    table.ctypes.data,
                    mixed.ctypes.data,
                )
            for i in range(QUERIES):
                query = queries[tile, i]
                if query >= 0 and total[i] > 0:
                    merge(out[head, query], level, head, query, mixed[i], top[i] + np.log(total[i]), total[i])

    return compiled(forward, fastmath={"contract"})


@inlined
def merge(row, level, head, query, mixed, its_level, total):
    """row = the mean of row and mixed/total by the weights exp(level) and exp(its_level); level follows."""
    old = level[head, query]
    if old == -np.inf:
        share, other = 1 / total, 0 * total
        level[head, query] = its_level
    else:
        high = max(old, its_level)
        new = high + np.log(np.exp(old - high) + np.exp(its_level - high))
        share, other = np.exp(its_level - new) / total, np.exp(old - new)
        level[head, query] = new
    if other == 0:
        for c in range(len(row)):
            row[c] = mixed[c] * share
    else:
        for c in range(len(row)):
            row[c] = row[c] * other + mixed[c] * share


def _backward(shape: Shape) -> Callable[..., None]:
    size, lanes, vectors, query_lanes = shape.size, shape.lanes, shape.vectors, shape.query_lanes
    score_rows, mix_rows, spread_rows = shape.score_rows, shape.mix_rows, shape.spread_rows

    def backward(head, first, last, q, k, v, keep, back, level, drift, dq, dk, dv, queries, starts, keys, masks, scale):
        """Tiles first to last of one head; dk and dv (tokens, width) are added to by nobody else meanwhile."""
        heads, _, width = q.shape
        per_batch = heads // max(1, keep.shape[0])
        turned = aligned(width * QUERIES, q).reshape(width, QUERIES)
        turned_back = aligned(width * QUERIES, q).reshape(width, QUERIES)
        rows = aligned(QUERIES * width, q).reshape(QUERIES, width)
        rows_back = aligned(QUERIES * width, q).reshape(QUERIES, width)
        moved = aligned(QUERIES * width, q).reshape(QUERIES, width)
        weights, changes = aligned(KEYS_AT_ONCE * QUERIES, q), aligned(KEYS_AT_ONCE * QUERIES, q)
        its_level, its_drift = aligned(QUERIES, q), aligned(QUERIES, q)
        allowed = np.empty(KEYS_AT_ONCE, np.uint32)
        for tile in range(first, last):
            for i in range(QUERIES):
                query = queries[tile, i]
                its_level[i] = level[head, query] if query >= 0 else 0
                its_drift[i] = drift[head, query] if query >= 0 else 0
                for c in range(width):
                    # Scaled here once, so that what comes out for the keys is scaled too.
                    rows[i, c] = q[head, query, c] * scale if query >= 0 else 0
                    rows_back[i, c] = back[head, query, c] if query >= 0 else 0
                    turned[c, i] = rows[i, c]
                    turned_back[c, i] = rows_back[i, c]
            moved[:] = 0
            for start in range(starts[tile], starts[tile + 1], KEYS_AT_ONCE):
                stop = min(start + KEYS_AT_ONCE, starts[tile + 1])
                count = stop - start
                if not _kept_masks(masks[start:stop], keys[start:stop], keep, head // per_batch, allowed):
                    continue
                named = keys.ctypes.data + 4 * start
                _all_scores(
                    size,
                    query_lanes,
                    score_rows,
                    k[head].ctypes.data,
                    named,
                    count,
                    width,
                    turned.ctypes.data,
                    weights.ctypes.data,
                )
                _all_scores(
                    size,
                    query_lanes,
                    score_rows,
                    v[head].ctypes.data,
                    named,
                    count,
                    width,
                    turned_back.ctypes.data,
                    changes.ctypes.data,
                )
                differentiate(
                    size, query_lanes, weights.ctypes.data, changes.ctypes.data, allowed.ctypes.data, count,
                    its_level.ctypes.data, its_drift.ctypes.data,
                )  # fmt: skip
                _all_mixed(
                    size,
                    lanes,
                    mix_rows,
                    vectors,
                    k[head].ctypes.data,
                    named,
                    count,
                    width,
                    changes.ctypes.data,
                    moved.ctypes.data,
                )
                _all_spread(
                    size,
                    lanes,
                    spread_rows,
                    vectors,
                    dv.ctypes.data,
                    named,
                    count,
                    width,
                    weights.ctypes.data,
                    rows_back.ctypes.data,
                )
                _all_spread(
                    size,
                    lanes,
                    spread_rows,
                    vectors,
                    dk.ctypes.data,
                    named,
                    count,
                    width,
                    changes.ctypes.data,
                    rows.ctypes.data,
                )
            for i in range(QUERIES):
                query = queries[tile, i]
                if query >= 0:
                    for c in range(width):
                        dq[head, query, c] += moved[i, c] * scale

    return compiled(backward, fastmath={"contract"})
