"""Attention of rows: one query after the other with a list of keys of its own, forward and backward."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from anyformer.attention.kernels.compiling import Shape, aligned, inlined
from anyformer.attention.kernels.instructions import dots, mix, spread_row, weigh_row
from anyformer.attention.kernels.tiles import merge
from anyformer.vector_code import compiled


class RowKernels(NamedTuple):
    """Both ways through a range of rows."""

    forward: Callable[..., None]
    backward: Callable[..., None]


@cache
def row_kernels(shape: Shape) -> RowKernels:
    """Both ways for this shape of numbers and heads, compiled when first called or read from the cache."""
    return RowKernels(_forward(shape), _backward(shape))


@inlined
def _kept_keys(keys, keep, batch, out):
    """The keys that are no padding, in `out`; how many there are."""
    count = 0
    for key in keys:
        if keep.shape[0] == 0 or keep[batch, key]:
            out[count] = key
            count += 1
    return count


def _forward(shape: Shape) -> Callable[..., None]:
    size, lanes, vectors, full = shape.size, shape.lanes, shape.vectors, shape.query_lanes
    block = lanes * vectors

    def forward(first, last, q, k, v, keep, out, level, starts, keys, longest, scale):
        """Rows first to last of all heads, one head after the other; merged with what `out` and `level` hold."""
        heads, tokens, width = q.shape
        per_batch = heads // max(1, keep.shape[0])
        room = -(-longest // full) * full
        scores, mixed, top = aligned(room, q), aligned(width, q), aligned(1, q)
        seen = np.empty(longest, np.int32)
        for row in range(first, last):
            head, query = row // tokens, row % tokens
            if starts[query] == starts[query + 1]:
                continue
            count = _kept_keys(keys[starts[query] : starts[query + 1]], keep, head // per_batch, seen)
            if count == 0:
                continue
            whole = -(-count // full)
            scores[: whole * full] = 0
            for c in range(0, width, block):
                dots(
                    size, lanes, vectors, k[head].ctypes.data + size * c, seen.ctypes.data, count, width,
                    q[head, query].ctypes.data + size * c, scores.ctypes.data,
                )  # fmt: skip
            top[0] = -np.inf
            for j in range(count):
                scores[j] *= scale
                top[0] = max(top[0], scores[j])
            weigh_row(size, full, scores.ctypes.data, whole, top.ctypes.data)
            total = 0 * top[0]
            for j in range(count):
                total += scores[j]
            mixed[:] = 0
            for c in range(0, width, block):
                mix(
                    size, lanes, 1, vectors, v[head].ctypes.data + size * c, seen.ctypes.data, count, width,
                    scores.ctypes.data, 1, mixed.ctypes.data + size * c,
                )  # fmt: skip
            merge(out[head, query], level, head, query, mixed, top[0] + np.log(total), total)

    return compiled(forward, fastmath={"contract"})


def _backward(shape: Shape) -> Callable[..., None]:
    size, lanes, vectors, full = shape.size, shape.lanes, shape.vectors, shape.query_lanes
    block = lanes * vectors

    def backward(head, first, last, q, k, v, keep, back, level, drift, dq, dk, dv, starts, keys, longest, scale):
        """Rows first to last of one head; dk and dv (tokens, width) are added to by nobody else meanwhile."""
        heads, _, width = q.shape
        per_batch = heads // max(1, keep.shape[0])
        room = -(-longest // full) * full
        weights, changes, its_level, scaled = aligned(room, q), aligned(room, q), aligned(1, q), aligned(width, q)
        moved = aligned(width, q)
        seen = np.empty(longest, np.int32)
        for query in range(first, last):
            if starts[query] == starts[query + 1]:
                continue
            count = _kept_keys(keys[starts[query] : starts[query + 1]], keep, head // per_batch, seen)
            if count == 0:
                continue
            whole = -(-count // full)
            weights[: whole * full] = 0
            changes[:count] = 0
            for c in range(width):
                scaled[c] = q[head, query, c] * scale
                moved[c] = 0
            for c in range(0, width, block):
                dots(
                    size, lanes, vectors, k[head].ctypes.data + size * c, seen.ctypes.data, count, width,
                    scaled.ctypes.data + size * c, weights.ctypes.data,
                )  # fmt: skip
                dots(
                    size, lanes, vectors, v[head].ctypes.data + size * c, seen.ctypes.data, count, width,
                    back[head, query].ctypes.data + size * c, changes.ctypes.data,
                )  # fmt: skip
            its_level[0] = level[head, query]
            for j in range(count):
                weights[j] = min(weights[j], its_level[0])
            weigh_row(size, full, weights.ctypes.data, whole, its_level.ctypes.data)
            for j in range(count):
                changes[j] = weights[j] * (changes[j] - drift[head, query])
            for c in range(0, width, block):
                spread_row(
                    size, lanes, vectors, seen.ctypes.data, count, width,
                    (k[head].ctypes.data + size * c, dk.ctypes.data + size * c, dv.ctypes.data + size * c),
                    (
                        scaled.ctypes.data + size * c, back[head, query].ctypes.data + size * c,
                        moved.ctypes.data + size * c,
                    ),
                    (changes.ctypes.data, weights.ctypes.data),
                )  # fmt: skip
            for c in range(width):
                dq[head, query, c] += moved[c] * scale

    return compiled(backward, fastmath={"contract"})
