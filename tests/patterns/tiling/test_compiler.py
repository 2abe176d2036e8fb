"""Every pair of a list is in exactly one part of its tiling, whatever the pattern."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.patterns import CATALOGUE, BigBird, Longformer, Neighbours, Star, Strided, from_pairs, named, tiling_of
from anyformer.patterns.tiling.compiler import Prices
from anyformer.patterns.tiling.parts import NOBODY, QUERIES, Tiling

PRICES = (Prices(row_pair=2.5, merge=6.0), Prices(row_pair=12.0, merge=100.0), Prices(row_pair=0.1, merge=0.0))


def times_executed(tiling: Tiling) -> np.ndarray:
    """(tokens, tokens): how many parts hold each pair, read off bit by bit."""
    found = np.zeros((tiling.tokens, tiling.tokens), dtype=int)
    for part in tiling.tiles:
        for tile, queries in enumerate(part.queries):
            for column in range(part.starts[tile], part.starts[tile + 1]):
                for bit, query in enumerate(queries):
                    if part.masks[column] >> np.uint32(bit) & np.uint32(1):
                        assert query != NOBODY
                        found[query, part.keys[column]] += 1
    if tiling.rows is not None:
        rows = np.repeat(np.arange(tiling.tokens), np.diff(tiling.rows.starts))
        np.add.at(found, (rows, tiling.rows.keys), 1)
    return found


def wanted(neighbours: Neighbours) -> np.ndarray:
    seen = np.zeros((neighbours.tokens, neighbours.tokens), dtype=int)
    seen[neighbours.queries(), neighbours.indices] = 1
    return seen


@pytest.mark.parametrize("prices", PRICES, ids=str)
@pytest.mark.parametrize("name", CATALOGUE)
def test_each_pair_is_in_one_part(name: str, prices: Prices) -> None:
    for tokens in (1, 31, 33, 150):
        for neighbours in named(name).at(tokens).lists():
            tiling = tiling_of(neighbours, prices)
            assert np.array_equal(times_executed(tiling), wanted(neighbours))
            assert tiling.connections == neighbours.connections <= tiling.executed


@given(st.integers(1, 80), st.floats(0.0, 1.0), st.integers(0, 2**32), st.sampled_from(PRICES))
def test_each_pair_of_any_list_is_in_one_part(tokens: int, density: float, seed: int, prices: Prices) -> None:
    rng = np.random.default_rng(seed)
    # Some rows see nothing, some much more than the others.
    chances = density * rng.random((tokens, 1)) ** 3
    neighbours = from_pairs(tokens, *np.nonzero(rng.random((tokens, tokens)) < chances))
    tiling = tiling_of(neighbours, prices)
    assert np.array_equal(times_executed(tiling), wanted(neighbours))


def test_a_query_is_in_one_tile_of_a_part() -> None:
    for part in tiling_of(BigBird(9, 3, 5).at(333).layer(0)).tiles:
        real = part.queries[part.queries != NOBODY]
        assert len(np.unique(real)) == len(real)
        assert part.queries.shape[1] == QUERIES
        assert (part.queries.dtype, part.keys.dtype, part.masks.dtype) == (np.int32, np.int32, np.uint32)


@pytest.mark.parametrize(
    ("neighbours", "most"),
    [
        (Longformer(64, 4).at(4096).layer(0), 1.14),
        (Strided().at(4096).layer(1), 1.0),
        (Strided(arrangement="union").at(4096).layer(0), 1.2),
        (Star().at(4096).layer(0), 1.0),
    ],
)
def test_little_is_executed_in_vain(neighbours: Neighbours, most: float) -> None:
    tiling = tiling_of(neighbours)
    assert tiling.executed <= most * tiling.connections


def test_queries_far_apart_that_share_keys_meet_in_a_tile() -> None:
    # Token k sees all tokens with its remainder: in the tokens' own order a tile of 32 would compute everything.
    tiling = tiling_of(Strided(stride=32).at(1024).layer(1))
    assert tiling.executed == tiling.connections == 1024 * 32


def test_the_same_list_has_the_same_tiling() -> None:
    once, twice = (tiling_of(BigBird().at(200).layer(0)) for _ in range(2))
    assert all(np.array_equal(a.queries, b.queries) for a, b in zip(once.tiles, twice.tiles, strict=True))
    assert np.array_equal(once.rows.keys, twice.rows.keys)
