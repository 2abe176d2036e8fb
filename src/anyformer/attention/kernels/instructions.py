"""The inner loops of sparse attention as intrinsics of Numba; arrays come as addresses, sizes as literals.

A tile has 32 queries. Its scores and weights are kept key by key: row j holds the 32 numbers of key j. All products
hold a block of sums in registers, and for each step of the sum take a number from one side and vectors from the other.

Literals: `size`, bytes of a number; `lanes` of a vector; `rows` and `vectors`, how many sums are held.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from anyformer.patterns.tiling.parts import QUERIES
from anyformer.vector_code import KEY, MASK, Vectors, index

WHOLE = types.intp


@intrinsic(prefer_literal=True)
def scores(typing, size, lanes, rows, matrix, keys, width, queries, out):
    """out[r, i] = Σ_c matrix[keys[r], c]·queries[c, i] for `rows` keys and 32 queries; `queries` is (width, 32)."""

    def emit(v: Vectors, matrix: Any, keys: Any, width: Any, queries: Any, out: Any) -> None:
        vectors = QUERIES // v.lanes
        tops = _rows_of(v, matrix, keys, width, rows.literal_value)
        first = v.pointer(queries)

        def number(r: int, c: Any) -> Any:
            return v.at(tops[r], c)

        def vector(c: Any, k: int) -> Any:
            return v.at(first, v.builder.mul(c, index(QUERIES)), k * v.lanes)

        zeros = [[v.constant(0.0)] * vectors for _ in tops]
        sums = _product(v, width, zeros, number, vector)
        for r, row in enumerate(sums):
            for k, total in enumerate(row):
                v.store(total, v.at(v.pointer(out), r * QUERIES + k * v.lanes))

    return _intrinsic(emit, size, lanes, (rows,), 5)


@intrinsic(prefer_literal=True)
def mix(typing, size, lanes, rows, vectors, matrix, keys, count, width, weights, step, out):
    """out[i, :] += Σ_j weights[j·step + i]·matrix[keys[j], :] for `rows` queries and `vectors` vectors of channels."""

    def emit(v: Vectors, matrix: Any, keys: Any, count: Any, width: Any, weights: Any, step: Any, out: Any) -> None:
        builder, first, names = v.builder, v.pointer(matrix), v.pointer(keys, KEY)

        def number(i: int, j: Any) -> Any:
            return v.at(v.pointer(weights), builder.mul(j, step), i)

        def vector(j: Any, k: int) -> Any:
            key = builder.sext(builder.load(v.at(names, j)), index(0).type)
            return v.at(first, builder.mul(key, width), k * v.lanes)

        places = [
            [v.at(v.pointer(out), builder.mul(index(i), width), k * v.lanes) for k in range(vectors.literal_value)]
            for i in range(rows.literal_value)
        ]
        _added(v, count, places, number, vector)

    return _intrinsic(emit, size, lanes, (rows, vectors), 7)


@intrinsic(prefer_literal=True)
def spread(typing, size, lanes, rows, vectors, matrix, keys, width, weights, queries):
    """matrix[keys[r], :] += Σ_i weights[r, i]·queries[i, :] over 32 queries, for `rows` keys, all different."""

    def emit(v: Vectors, matrix: Any, keys: Any, width: Any, weights: Any, queries: Any) -> None:
        builder, first = v.builder, v.pointer(queries)
        tops = _rows_of(v, matrix, keys, width, rows.literal_value)

        def number(r: int, i: Any) -> Any:
            return v.at(v.pointer(weights), i, r * QUERIES)

        def vector(i: Any, k: int) -> Any:
            return v.at(first, builder.mul(i, width), k * v.lanes)

        places = [[v.at(top, k * v.lanes) for k in range(vectors.literal_value)] for top in tops]
        _added(v, index(QUERIES), places, number, vector)

    return _intrinsic(emit, size, lanes, (rows, vectors), 5)


@intrinsic(prefer_literal=True)
def largest(typing, size, lanes, table, masks, count, top):
    """table[j, i] = −∞ where bit i of masks[j] is 0; top[i] = max(top[i], table[:, i])."""

    def emit(v: Vectors, table: Any, masks: Any, count: Any, top: Any) -> None:
        hidden, bits = v.constant(float("-inf")), v.pointer(masks, MASK)

        def key(j: Any, tops: list[Any]) -> list[Any]:
            mask, found = v.builder.load(v.at(bits, j)), []
            for k, place in enumerate(_places(v, table, j)):
                score = v.builder.select(v.chosen(mask, k * v.lanes), v.load(place), hidden)
                v.store(score, place)
                found.append(v.larger(score, tops[k]))
            return found

        _carried(v, count, [top], lambda j, held: key(j, held))

    return _intrinsic(emit, size, lanes, (), 4)


@intrinsic(prefer_literal=True)
def weigh(typing, size, lanes, table, count, top, total):
    """table = exp(table − top), and total += its sums over the keys."""

    def emit(v: Vectors, table: Any, count: Any, top: Any, total: Any) -> None:
        tops = [v.load(place) for place in _places(v, top, index(0))]

        def key(j: Any, totals: list[Any]) -> list[Any]:
            sums = []
            for k, place in enumerate(_places(v, table, j)):
                weight = v.exp(v.builder.fsub(v.load(place), tops[k]))
                v.store(weight, place)
                sums.append(v.builder.fadd(totals[k], weight))
            return sums

        _carried(v, count, [total], lambda j, held: key(j, held))

    return _intrinsic(emit, size, lanes, (), 4)


@intrinsic(prefer_literal=True)
def differentiate(typing, size, lanes, table, changes, masks, count, level, drift):
    """Scores become weights p = exp(score − level), 0 where masked; changes become p·(change − drift)."""

    def emit(v: Vectors, table: Any, changes: Any, masks: Any, count: Any, level: Any, drift: Any) -> None:
        builder, bits, zero = v.builder, v.pointer(masks, MASK), v.constant(0.0)
        levels = [v.load(place) for place in _places(v, level, index(0))]
        drifts = [v.load(place) for place in _places(v, drift, index(0))]

        def key(j: Any, held: list[Any]) -> list[Any]:
            mask = builder.load(v.at(bits, j))
            both = zip(_places(v, table, j), _places(v, changes, j), strict=True)
            for k, (place, change) in enumerate(both):
                below = builder.fsub(v.load(place), levels[k])
                # A weight is at most 1; where nothing is seen the level is −∞, and the mask hides what is computed.
                weight = v.exp(builder.select(builder.fcmp_ordered("<", below, zero), below, zero))
                weight = builder.select(v.chosen(mask, k * v.lanes), weight, zero)
                v.store(weight, place)
                v.store(builder.fmul(weight, builder.fsub(v.load(change), drifts[k])), change)
            return held

        v.loop(count, [], key)

    return _intrinsic(emit, size, lanes, (), 6)


@intrinsic(prefer_literal=True)
def dots(typing, size, lanes, vectors, matrix, keys, count, width, query, out):
    """out[j] += Σ_c matrix[keys[j], c]·query[c] over `vectors` vectors of channels."""

    def emit(v: Vectors, matrix: Any, keys: Any, count: Any, width: Any, query: Any, out: Any) -> None:
        builder, first, names = v.builder, v.pointer(matrix), v.pointer(keys, KEY)
        parts = [v.load(v.at(v.pointer(query), k * v.lanes)) for k in range(vectors.literal_value)]

        def key(j: Any, held: list[Any]) -> list[Any]:
            row = v.at(first, builder.mul(builder.sext(builder.load(v.at(names, j)), index(0).type), width))
            total = v.constant(0.0)
            for k, part in enumerate(parts):
                total = v.fma(v.load(v.at(row, k * v.lanes)), part, total)
            place = v.at(v.pointer(out), j)
            builder.store(builder.fadd(builder.load(place), v.sum(total)), place)
            return held

        v.loop(count, [], key)

    return _intrinsic(emit, size, lanes, (vectors,), 6)


@intrinsic(prefer_literal=True)
def weigh_row(typing, size, lanes, row, count, top):
    """row[j] = exp(row[j] − top[0]) for `count` vectors of numbers."""

    def emit(v: Vectors, row: Any, count: Any, top: Any) -> None:
        highest = v.broadcast(v.builder.load(v.pointer(top)))

        def part(j: Any, held: list[Any]) -> list[Any]:
            place = v.at(v.pointer(row), v.builder.mul(j, index(v.lanes)))
            v.store(v.exp(v.builder.fsub(v.load(place), highest)), place)
            return held

        v.loop(count, [], part)

    return _intrinsic(emit, size, lanes, (), 3)


@intrinsic(prefer_literal=True)
def spread_row(typing, size, lanes, vectors, keys, count, width, matrices, rows, numbers):
    """One query of many keys: its gradient is added up, and those of its keys and values are added to.

    `matrices` are the addresses of K, dK and dV, `rows` of the query, of what comes back to it, and of its gradient,
    `numbers` of the change of each score and of each weight.
    """

    def emit(v: Vectors, keys: Any, count: Any, width: Any, *tables: Any) -> None:
        builder, names = v.builder, v.pointer(keys, KEY)
        (k_in, k_out, v_out), (query, back, gradient), (change, weight) = tables
        parts = range(vectors.literal_value)
        queries = [v.load(v.at(v.pointer(query), k * v.lanes)) for k in parts]
        backs = [v.load(v.at(v.pointer(back), k * v.lanes)) for k in parts]
        sums = [v.load(v.at(v.pointer(gradient), k * v.lanes)) for k in parts]

        def key(j: Any, sums: list[Any]) -> list[Any]:
            start = builder.mul(builder.sext(builder.load(v.at(names, j)), index(0).type), width)
            moved = v.broadcast(builder.load(v.at(v.pointer(change), j)))
            share = v.broadcast(builder.load(v.at(v.pointer(weight), j)))
            for k in parts:
                for place, factor, row in ((k_out, moved, queries[k]), (v_out, share, backs[k])):
                    target = v.at(v.pointer(place), start, k * v.lanes)
                    v.store(v.fma(factor, row, v.load(target)), target)
            return [v.fma(moved, v.load(v.at(v.pointer(k_in), start, k * v.lanes)), sums[k]) for k in parts]

        for k, total in enumerate(v.loop(count, sums, key)):
            v.store(total, v.at(v.pointer(gradient), k * v.lanes))

    return _intrinsic(emit, size, lanes, (vectors,), 3, (3, 3, 2))


def _intrinsic(
    emit: Callable[..., None],
    size: Any,
    lanes: Any,
    others: tuple[Any, ...],
    addresses: int,
    tuples: tuple[int, ...] = (),
) -> Any:
    """Signature and generator: literals first, then addresses and counts, then tuples of addresses."""
    literals = (size, lanes, *others)
    kinds = [*[WHOLE] * addresses, *(types.UniTuple(WHOLE, length) for length in tuples)]

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        given = values[len(literals) :]
        unpacked = [
            [builder.extract_value(value, k) for k in range(n)]
            for value, n in zip(given[addresses:], tuples, strict=True)
        ]
        emit(Vectors(builder, size.literal_value, lanes.literal_value), *given[:addresses], *unpacked)
        return context.get_dummy_value()

    return types.void(*literals, *kinds), generate


def _rows_of(v: Vectors, matrix: Any, keys: Any, width: Any, rows: int) -> list[Any]:
    """Where the rows of the first keys start."""
    first, names = v.pointer(matrix), v.pointer(keys, KEY)
    found = [v.builder.sext(v.builder.load(v.at(names, r)), index(0).type) for r in range(rows)]
    return [v.at(first, v.builder.mul(key, width)) for key in found]


def _places(v: Vectors, table: Any, j: Any) -> list[Any]:
    """Where the vectors of row j of a table of 32 columns are."""
    row = v.at(v.pointer(table), v.builder.mul(j, index(QUERIES)))
    return [v.at(row, k * v.lanes) for k in range(QUERIES // v.lanes)]


def _carried(v: Vectors, count: Any, rows: list[Any], body: Callable[[Any, list[Any]], list[Any]]) -> None:
    """Rows of 32 numbers held in registers while the body goes over the keys."""
    places = [place for row in rows for place in _places(v, row, index(0))]
    for place, value in zip(places, v.loop(count, [v.load(place) for place in places], body), strict=True):
        v.store(value, place)


def _product(
    v: Vectors, steps: Any, sums: list[list[Any]], number: Callable[[int, Any], Any], vector: Callable[[Any, int], Any]
) -> list[list[Any]]:
    """sums[r][k] + Σ_step number(r, step)·vector(step, k), with all sums in registers."""
    rows, vectors = len(sums), len(sums[0])

    def step(s: Any, flat: list[Any]) -> list[Any]:
        held, taken = [], [v.load(vector(s, k)) for k in range(vectors)]
        for r in range(rows):
            factor = v.broadcast(v.builder.load(number(r, s)))
            held += [v.fma(factor, taken[k], flat[r * vectors + k]) for k in range(vectors)]
        return held

    flat = v.loop(steps, [total for row in sums for total in row], step)
    return [flat[r * vectors : (r + 1) * vectors] for r in range(rows)]


def _added(
    v: Vectors,
    steps: Any,
    places: list[list[Any]],
    number: Callable[[int, Any], Any],
    vector: Callable[[Any, int], Any],
) -> None:
    """The product added to what is at these places."""
    sums = [[v.load(place) for place in row] for row in places]
    for row, total in zip(places, _product(v, steps, sums, number, vector), strict=True):
        for place, value in zip(row, total, strict=True):
            v.store(value, place)
