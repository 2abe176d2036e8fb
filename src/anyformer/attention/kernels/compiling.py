"""What all kernels share: the shape they are compiled for, how they are compiled, and buffers on whole cache lines."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from anyformer.patterns.tiling.parts import QUERIES
from anyformer.vector_code import vector_bytes

CACHE_LINE = 64


class Shape(NamedTuple):
    """Sizes that are known when a kernel is compiled. Head sizes that are cut alike share their kernels."""

    size: int  # bytes of a number
    lanes: int  # of a vector of channels
    vectors: int  # of channels that are held at once
    query_lanes: int  # of a vector of queries
    score_rows: int  # keys, queries and keys again whose sums are held at once in the three products
    mix_rows: int
    spread_rows: int


def shape_for(width: int, size: int, register: int | None = None) -> Shape:
    """How heads of `width` channels are cut, with numbers of `size` bytes and registers of `register` bytes.

    Of 32 registers, which come with 64 bytes, 24 hold sums, and of 16 registers 12: the others hold what is read.
    """
    register = vector_bytes() if register is None else register
    full, sums = register // size, 24 if register == 64 else 12
    lanes = next(lanes for lanes in (full, full // 2, full // 4, 2, 1) if lanes and width % lanes == 0)
    vectors = next(n for n in (4, 3, 2, 1) if width // lanes % n == 0)
    rows = max(1, sums // vectors)
    # The rows of a mix are queries of a tile, and their number must divide 32.
    dividing = max(n for n in (1, 2, 4, 8) if n <= rows)
    return Shape(size, lanes, vectors, full, max(1, sums // (QUERIES // full)), dividing, rows)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that kernels call, compiled into them."""
    return njit(nogil=True, inline="always")(function)


@inlined
def aligned(count, like):
    """An array of so many numbers of the type of `like` that starts with a cache line."""
    room = np.empty(count + CACHE_LINE, like.dtype)
    start = -room.ctypes.data % CACHE_LINE // like.itemsize
    return room[start : start + count]
