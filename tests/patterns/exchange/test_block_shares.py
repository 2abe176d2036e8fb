"""How many blocks a pattern touches, against dense matrices; scattered patterns are refused in words."""

import numpy as np
import pytest

from anyformer.patterns import (
    MOST_BLOCK_SHARE,
    BigBird,
    Blocked,
    Causal,
    Full,
    PatternError,
    Random,
    SlidingWindow,
    block_share,
    require_sparse_blocks,
    to_dense,
)
from tests.patterns.samples import random_pattern


def by_matrix(matrix, size):
    """Which blocks hold a connection, cell by cell."""
    rows = -(-len(matrix) // size)
    cut = [matrix[size * i : size * (i + 1), size * j : size * (j + 1)] for i in range(rows) for j in range(rows)]
    return np.array([block.any() for block in cut])


@pytest.mark.parametrize(("tokens", "size"), [(1, 1), (1, 9), (13, 4), (12, 4), (30, 7)])
def test_shares_agree_with_the_matrix(tokens, size):
    pattern = random_pattern(np.random.default_rng(tokens), tokens, 2, heads=3, loops=False)
    for layer in range(3):
        expected = np.mean([by_matrix(matrix, size) for matrix in to_dense(pattern)[layer % 2]])
        assert block_share(pattern, layer, size) == pytest.approx(expected, abs=1e-12)


def test_blocks_of_bigbird_are_what_they_are_called():
    inner, blocked = BigBird(random_keys=3).at(64), Blocked(BigBird(random_keys=3), 128).at(64 * 128)
    assert block_share(blocked) == inner.layer(0).connections / 64**2
    require_sparse_blocks(blocked)


def test_scattered_patterns_are_refused_with_the_numbers_and_what_to_do():
    scattered = Random(keys=8).at(2048)
    share = by_matrix(to_dense(scattered)[0, 0], 64).mean()
    assert share > MOST_BLOCK_SHARE
    with pytest.raises(PatternError) as refused:
        require_sparse_blocks(scattered, block_size=64)
    said = str(refused.value)
    assert f"layer 0 touches {share:.1%} of them" in said
    assert "Blocked(…, block=64)" in said
    assert "most_share=1" in said
    require_sparse_blocks(scattered, block_size=64, most_share=1)
    require_sparse_blocks(scattered, block_size=1)


def test_what_is_dense_by_itself_passes():
    require_sparse_blocks(Full().at(100), block_size=8)
    require_sparse_blocks(Causal(Full()).at(100), block_size=8)
    with pytest.raises(PatternError, match=r"touches 100\.0% of them, and only 3\.87%"):
        require_sparse_blocks(SlidingWindow(2).at(128))


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_a_share_is_a_share(share):
    with pytest.raises(PatternError, match="most_share must be above 0 and at most 1"):
        require_sparse_blocks(SlidingWindow().at(9), most_share=share)
