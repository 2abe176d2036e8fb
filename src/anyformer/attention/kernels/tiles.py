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


# What kernels call is compiled into them. Sizes come as arguments and are literals where it is called: a kernel that
# held other compiled functions in its closure could not be kept on disk. `keys` is the address of the first key.


@inlined
def _all_scores(size, lanes, rows, matrix, keys, count, queries, out):
    """The scores of `count` keys, rows of the matrix, and the 32 queries (width, 32)."""
    width, row = len(queries), size * QUERIES
    of, by, to = matrix.ctypes.data, queries.ctypes.data, out.ctypes.data
    if count < rows:
        for j in range(count):
            scores(size, lanes, 1, of, keys + 4 * j, width, by, to + row * j)
    else:
        for j in range(0, count - rows + 1, rows):
            scores(size, lanes, rows, of, keys + 4 * j, width, by, to + row * j)
        if count % rows:  # the last ones again, together with those before them
            last = count - rows
            scores(size, lanes, rows, of, keys + 4 * last, width, by, to + row * last)


@inlined
def _all_mixed(size, lanes, rows, vectors, matrix, keys, count, weights, out):
    """The rows of `count` keys, mixed for each of the 32 queries and added to `out` (32, width)."""
    width, of, by, to = out.shape[1], matrix.ctypes.data, weights.ctypes.data, out.ctypes.data
    for c in range(0, width, lanes * vectors):
        for i in range(0, QUERIES, rows):
            place = to + size * (i * width + c)
            mix(size, lanes, rows, vectors, of + size * c, keys, count, width, by + size * i, QUERIES, place)


@inlined
def _all_spread(size, lanes, rows, vectors, matrix, keys, count, weights, queries):
    """The rows of the 32 queries (32, width), spread over `count` keys, rows of the matrix."""
    width, row, whole = queries.shape[1], size * QUERIES, count // rows * rows
    to, by, of = matrix.ctypes.data, weights.ctypes.data, queries.ctypes.data
    for c in range(0, width, lanes * vectors):
        place, part = to + size * c, of + size * c
        for j in range(0, whole, rows):
            spread(size, lanes, rows, vectors, place, keys + 4 * j, width, by + row * j, part)
        for j in range(whole, count):
            spread(size, lanes, 1, vectors, place, keys + 4 * j, width, by + row * j, part)


@inlined
def _kept_masks(masks, keys, keep, batch, out):
    """The masks of these keys, empty for padding; whether any is not empty."""
    found = np.uint32(0)
    for j in range(len(masks)):
        out[j] = masks[j] if keep.shape[0] == 0 or keep[batch, keys[j]] else np.uint32(0)
        found |= out[j]
    return found != 0


@inlined
def _turn(source, queries, scale, rows, turned):
    """The rows of these queries, times scale, in `rows` (32, width) and in `turned` (width, 32); zeros for nobody."""
    for i in range(QUERIES):
        if queries[i] < 0:
            rows[i] = 0
            turned[:, i] = 0
        else:
            row = source[queries[i]]
            for c in range(len(row)):
                rows[i, c] = row[c] * scale
                turned[c, i] = rows[i, c]


@inlined
def _shrink(before, top, total, mixed):
    """What was measured from `before` is measured from `top` now; `before` becomes what to measure from."""
    for i in range(QUERIES):
        if before[i] != top[i] and before[i] > -np.inf:
            shrunk = np.exp(before[i] - top[i])
            total[i] *= shrunk
            for c in range(mixed.shape[1]):
                mixed[i, c] *= shrunk
        # Where nothing is seen all scores are −∞, and −∞ from 0 is 0.
        before[i] = top[i] if top[i] > -np.inf else 0


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
            _turn(q[head], queries[tile], scale, mixed, turned)
            mixed[:] = 0
            total[:] = 0
            top[:] = -np.inf
            for start in range(starts[tile], starts[tile + 1], KEYS_AT_ONCE):
                stop = min(start + KEYS_AT_ONCE, starts[tile + 1])
                named, count = keys.ctypes.data + 4 * start, stop - start
                if not _kept_masks(masks[start:stop], keys[start:stop], keep, head // per_batch, allowed):
                    continue
                _all_scores(size, query_lanes, score_rows, k[head], named, count, turned, table)
                before[:] = top
                largest(size, query_lanes, table.ctypes.data, allowed.ctypes.data, count, top.ctypes.data)
                _shrink(before, top, total, mixed)
                weigh(size, query_lanes, table.ctypes.data, count, before.ctypes.data, total.ctypes.data)
                _all_mixed(size, lanes, mix_rows, vectors, v[head], named, count, table, mixed)
            for i in range(QUERIES):
                query = queries[tile, i]
                if query >= 0 and total[i] > 0:
                    merge(out[head, query], level, head, query, mixed[i], top[i] + np.log(total[i]), total[i])

    return compiled(forward, fastmath={"contract"})


def _backward(shape: Shape) -> Callable[..., None]:
    size, lanes, vectors, query_lanes = shape.size, shape.lanes, shape.vectors, shape.query_lanes
    score_rows, mix_rows, spread_rows = shape.score_rows, shape.mix_rows, shape.spread_rows

    def backward(head, first, last, q, k, v, keep, back, level, drift, dq, dk, dv, queries, starts, keys, masks, scale):
        """Tiles first to last of one head; dk and dv (tokens, width) are added to by nobody else meanwhile."""
        heads, _, width = q.shape
        batch = head // (heads // max(1, keep.shape[0]))
        turned = aligned(width * QUERIES, q).reshape(width, QUERIES)
        turned_back = aligned(width * QUERIES, q).reshape(width, QUERIES)
        rows = aligned(QUERIES * width, q).reshape(QUERIES, width)
        rows_back = aligned(QUERIES * width, q).reshape(QUERIES, width)
        moved = aligned(QUERIES * width, q).reshape(QUERIES, width)
        weights, changes = aligned(KEYS_AT_ONCE * QUERIES, q), aligned(KEYS_AT_ONCE * QUERIES, q)
        levels, drifts = aligned(QUERIES, q), aligned(QUERIES, q)
        allowed = np.empty(KEYS_AT_ONCE, np.uint32)
        for tile in range(first, last):
            # Scaled here once, so that what comes out for the keys is scaled too.
            _turn(q[head], queries[tile], scale, rows, turned)
            _turn(back[head], queries[tile], 1, rows_back, turned_back)
            for i in range(QUERIES):
                query = queries[tile, i]
                levels[i] = level[head, query] if query >= 0 else 0
                drifts[i] = drift[head, query] if query >= 0 else 0
            moved[:] = 0
            for start in range(starts[tile], starts[tile + 1], KEYS_AT_ONCE):
                stop = min(start + KEYS_AT_ONCE, starts[tile + 1])
                named, count = keys.ctypes.data + 4 * start, stop - start
                if not _kept_masks(masks[start:stop], keys[start:stop], keep, batch, allowed):
                    continue
                _all_scores(size, query_lanes, score_rows, k[head], named, count, turned, weights)
                _all_scores(size, query_lanes, score_rows, v[head], named, count, turned_back, changes)
                differentiate(
                    size, query_lanes, weights.ctypes.data, changes.ctypes.data, allowed.ctypes.data, count,
                    levels.ctypes.data, drifts.ctypes.data,
                )  # fmt: skip
                _all_mixed(size, lanes, mix_rows, vectors, k[head], named, count, changes, moved)
                _all_spread(size, lanes, spread_rows, vectors, dv, named, count, weights, rows_back)
                _all_spread(size, lanes, spread_rows, vectors, dk, named, count, changes, rows)
            for i in range(QUERIES):
                query = queries[tile, i]
                if query >= 0:
                    for c in range(width):
                        dq[head, query, c] += moved[i, c] * scale

    return compiled(backward, fastmath={"contract"})
