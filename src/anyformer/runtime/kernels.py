"""The two loops that take the time, compiled by Numba for a width and a hidden size, once and for all (cached on disk).

`through_all`: every layer for every token. A few vectors of tokens are held in registers while they pass a chunk of
layers whose weights stay in the first-level cache. The loop is written as LLVM instructions on vectors of the
machine's full length: left to itself the compiler splits 512-bit vectors, and may or may not fuse a product with a sum;
here every sum is a fused multiply-add because the definition says so (`networks.evaluate`).

`through_awake`: one token after the other, each from one layer that may be awake for it to the next (`networks.runs`).
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from anyformer.networks.runs import CAUTION
from anyformer.vector_code import Vectors, compiled, index, vector_bytes

# A chunk of layers has at most this many numbers: half of a first-level cache of 32 KiB.
CHUNK_NUMBERS = 2048
# Units that are written out one after the other in a layer; more are looped over.
UNROLLED = 4


class Kernels(NamedTuple):
    """Both loops for one width and hidden size; they change the state (width, tokens) in place."""

    through_all: Callable[..., None]
    through_awake: Callable[..., int]


class Registers(NamedTuple):
    """How many float64 a vector register holds, and how many vectors of tokens are held at once."""

    lanes: int
    vectors: int


@cache
def kernels(width: int, hidden_size: int) -> Kernels:
    """Both loops, compiled when first called or read from the cache."""
    lanes, vectors = registers_for(width)
    return Kernels(_all_layers(width, hidden_size, lanes, vectors), _awake_layers(width, hidden_size))


@cache
def registers_for(width: int) -> Registers:
    """Measured on AVX2 (16 registers of 4); counted for AVX-512 (32 of 8): x and its move stay in registers."""
    if vector_bytes() == 64:
        return Registers(8, max(2, 15 // (width + 1)))
    return Registers(4, {1: 4, 2: 3}.get(width, 2))


def _all_layers(width: int, hidden_size: int, lanes: int, vectors: int) -> Callable[..., None]:
    together = lanes * vectors
    numbers = hidden_size * (2 * width + 1) + width
    chunk = max(1, CHUNK_NUMBERS // numbers)

    def through_all(state, weights):
        layers, tokens = weights.shape[0], state.shape[1]
        for start in range(0, layers, chunk):
            stop = min(start + chunk, layers)
            for token in range(0, tokens, together):
                pass_layers(
                    state.ctypes.data + 8 * token,
                    tokens,
                    weights.ctypes.data + 8 * start * numbers,
                    stop - start,
                    width,
                    hidden_size,
                    lanes,
                    vectors,
                )

    return compiled(through_all)


@intrinsic(prefer_literal=True)
def pass_layers(typing_context, state, stride, weights, layers, width, hidden_size, lanes, vectors):
    """Take lanes × vectors tokens through `layers` layers; `state` and `weights` are addresses."""
    sizes = [size.literal_value for size in (width, hidden_size, lanes, vectors)]
    signature = types.void(types.intp, types.intp, types.intp, types.intp, width, hidden_size, lanes, vectors)

    def generate(context, builder, signature, arguments):
        _Walk(builder, *sizes).emit(*arguments[:4])
        return context.get_dummy_value()

    return signature, generate


class _Walk:
    """Emits the loop over layers. A *row* is a list of vectors: one coordinate of all tokens held at once."""

    def __init__(self, builder: Any, width: int, hidden_size: int, lanes: int, vectors: int) -> None:
        self.v = Vectors(builder, 8, lanes)
        self.builder, self.width, self.hidden_size, self.vectors = builder, width, hidden_size, vectors

    def emit(self, state: Any, stride: Any, weights: Any, layers: Any) -> None:
        builder, v = self.builder, self.v
        first, base = v.pointer(state), v.pointer(weights)
        places = [
            [v.at(first, builder.mul(stride, index(i)), k * v.lanes) for k in range(self.vectors)]
            for i in range(self.width)
        ]
        rows = [[v.load(place, align=8 * v.lanes) for place in row] for row in places]
        numbers = self.hidden_size * (2 * self.width + 1) + self.width

        def layer(k: Any, rows: list[list[Any]]) -> list[list[Any]]:
            return self._layer(v.at(base, builder.mul(k, index(numbers))), rows)

        rows = self._loop(layers, rows, layer)
        for row, vectors in zip(places, rows, strict=True):
            for place, vector in zip(row, vectors, strict=True):
                v.store(vector, place, align=8 * v.lanes)

    def _layer(self, base: Any, rows: list[list[Any]]) -> list[list[Any]]:
        """x + (b_2 + Σ_units W_2·max(b_1 + W_1·x, 0)), every product fused with its sum."""
        builder, per_unit = self.builder, 2 * self.width + 1
        moves = [[self._broadcast(base, self.hidden_size * per_unit + i)] * self.vectors for i in range(self.width)]
        unrolled = next(n for n in range(UNROLLED, 0, -1) if self.hidden_size % n == 0)

        def units(k: Any, moves: list[list[Any]]) -> list[list[Any]]:
            first = self.v.at(base, builder.mul(k, index(unrolled * per_unit)))
            for unit in range(unrolled):
                moves = self._unit(first, unit * per_unit, rows, moves)
            return moves

        rounds = self.hidden_size // unrolled
        moves = units(index(0), moves) if rounds == 1 else self._loop(index(rounds), moves, units)
        return [
            [builder.fadd(x, move) for x, move in zip(*pair, strict=True)] for pair in zip(rows, moves, strict=True)
        ]

    def _unit(self, base: Any, offset: int, rows: list[list[Any]], moves: list[list[Any]]) -> list[list[Any]]:
        """One weight at a time is used on all vectors, so that it needs one register only."""
        builder, v, zero = self.builder, self.v, self.v.constant(0.0)
        hidden = [self._broadcast(base, offset)] * self.vectors
        for i, row in enumerate(rows):
            weight = self._broadcast(base, offset + 1 + i)
            hidden = [v.fma(weight, x, h) for x, h in zip(row, hidden, strict=True)]
        # Unordered: NaN stays NaN, as in NumPy's maximum.
        hidden = [builder.select(builder.fcmp_unordered(">", h, zero), h, zero) for h in hidden]
        result = []
        for i, move in enumerate(moves):
            weight = self._broadcast(base, offset + 1 + self.width + i)
            result.append([v.fma(weight, h, m) for h, m in zip(hidden, move, strict=True)])
        return result

    def _loop(self, count: Any, rows: list[list[Any]], body: Callable[[Any, list[list[Any]]], Any]) -> list[list[Any]]:
        """for k in range(count): rows = body(k, rows), with at least one round."""

        def cut(flat: list[Any]) -> list[list[Any]]:
            return [flat[first : first + self.vectors] for first in range(0, len(flat), self.vectors)]

        def step(k: Any, flat: list[Any]) -> list[Any]:
            return [vector for row in body(k, cut(flat)) for vector in row]

        return cut(self.v.loop(count, [vector for row in rows for vector in row], step))

    def _broadcast(self, base: Any, offset: int) -> Any:
        return self.v.broadcast(self.builder.load(self.v.at(base, offset)))


@intrinsic
def fused(typing_context, a, b, c):
    """a·b + c with one rounding."""

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    # In the type of the numbers: float32 where all of them are.
    kind = types.float32 if a == b == c == types.float32 else types.float64
    return kind(kind, kind, kind), generate


@njit(nogil=True, inline="never")
def first_below(tree, start, value):
    """The smallest index >= start whose threshold is below the value, in a heap of minima; len(tree)//2 if none."""
    size = len(tree) // 2
    if start >= size:
        return size
    node = start + size
    while tree[node] >= value:
        node += 1
        node //= node & -node  # the node to the right, as high up as it goes
        if node == 1:
            return size
    while node < size:
        node *= 2
        if tree[node] >= value:
            node += 1
    return node - size


def _awake_layers(width: int, hidden_size: int) -> Callable[..., int]:
    per_unit = 2 * width + 1

    def through_awake(state, first, last, weights, start, stop, direction, ceilings, floors, limit):
        steps = 0
        x = np.empty(width)
        move = np.empty(width)
        for token in range(first, last):
            for i in range(width):
                x[i] = state[i, token]
            layer = start
            while True:
                reading = 0.0
                size = 0.0
                for i in range(width):
                    if direction[i] != 0:
                        reading += direction[i] * x[i]
                        size += abs(direction[i] * x[i])
                    if not abs(x[i]) <= limit:
                        size = np.inf
                if not size < np.inf:
                    size = np.inf
                    reading = 0.0
                above = first_below(ceilings, layer - start, reading + CAUTION * size)
                below = first_below(floors, layer - start, CAUTION * size - reading)
                layer = start + min(above, below)
                steps += 1
                if layer >= stop:
                    break
                w = weights[layer]
                for i in range(width):
                    move[i] = w[hidden_size * per_unit + i]
                for unit in range(hidden_size):
                    hidden = w[unit * per_unit]
                    for i in range(width):
                        hidden = fused(w[unit * per_unit + 1 + i], x[i], hidden)
                    if not hidden <= 0:
                        for i in range(width):
                            move[i] = fused(w[unit * per_unit + 1 + width + i], hidden, move[i])
                for i in range(width):
                    x[i] += move[i]
                layer += 1
            for i in range(width):
                state[i, token] = x[i]
        return steps

    return compiled(through_awake)
