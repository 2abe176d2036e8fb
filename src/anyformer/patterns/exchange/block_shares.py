"""How many blocks of queries × keys a pattern touches: what a kernel that works block by block has to compute.

One connection in a block costs as much as a whole block. So a pattern of few but scattered connections touches every
block, and a block-sparse kernel then computes dense attention under the name of sparse. That is refused here.
"""

from typing import Final

import numpy as np

from anyformer.arrays import Integers
from anyformer.errors import PatternError
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.sizes import whole_number

MOST_BLOCK_SHARE: Final = 0.5
"""Of all blocks, the largest share with which block-sparse attention counts as sparse."""
_WELL_FILLED: Final = 0.5  # of the pairs in those blocks: such a pattern is dense itself, and its cost is no surprise


def block_share(pattern: SparsityPattern, layer: int = 0, block_size: int = 128) -> float:
    """The share of blocks in which a layer has at least one connection, over all its lists.

    >>> from anyformer.patterns import Random, SlidingWindow
    >>> block_share(SlidingWindow(128).at(4096)), round(block_share(Random(keys=16).at(4096)), 2)
    (0.091796875, 1.0)
    """
    lists, size = pattern.layers[layer % pattern.period], whole_number("block_size", block_size, least=1)
    blocks = len(lists) * _rows(pattern.tokens, size) ** 2
    return sum(len(touched_blocks(one, size)[0]) for one in lists) / blocks


def require_sparse_blocks(
    pattern: SparsityPattern, layer: int = 0, block_size: int = 128, most_share: float = MOST_BLOCK_SHARE
) -> None:
    """Refuse a layer that touches more than this share of the blocks, and has few connections in them.

    A layer in which at least half of the pairs in those blocks are connections passes: it is dense by itself.
    """
    if not 0 < most_share <= 1:
        raise PatternError(f"most_share must be above 0 and at most 1; got {most_share!r}. Give a share of all blocks.")
    share = block_share(pattern, layer, block_size)
    if share <= most_share:
        return
    lists = pattern.layers[layer % pattern.period]
    filled = sum(one.connections for one in lists) / sum(_pairs(one, block_size) for one in lists)
    if filled < _WELL_FILLED:
        raise PatternError(
            f"a layer must touch at most {most_share:.0%} of the blocks of {block_size} × {block_size} pairs, or"
            f" attention by blocks costs as much as dense attention; layer {layer} touches {share:.1%} of them, and"
            f" only {filled:.2%} of the pairs there are connections. Take a pattern on blocks (Blocked(…,"
            f" block={block_size})) or smaller blocks, or give most_share=1 if that cost is all right."
        )


def touched_blocks(neighbours: Neighbours, size: int) -> tuple[Integers, Integers]:
    """The blocks with at least one connection, as row · rows + column, sorted, and how many each has."""
    rows = _rows(neighbours.tokens, size)
    return np.unique((neighbours.queries() // size) * rows + neighbours.indices // size, return_counts=True)


def _pairs(neighbours: Neighbours, size: int) -> int:
    """How many pairs (query, key) there are in the blocks that are touched; the last row and column may be short."""
    rows = _rows(neighbours.tokens, size)
    lengths = np.minimum(size, neighbours.tokens - size * np.arange(rows))
    blocks, _ = touched_blocks(neighbours, size)
    return int((lengths[blocks // rows] * lengths[blocks % rows]).sum())


def _rows(tokens: int, size: int) -> int:
    return -(-tokens // size)
