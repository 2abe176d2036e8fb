"""A pattern for PyTorch's FlexAttention: its mask_mod and its BlockMask.

Both are made from the connections, where FlexAttention's own `create_block_mask` tries all n² pairs. The mask finds a
pair in two look-ups: the tile of pairs it lies in, then its bit there. Only tiles with a connection are kept. Scattered
connections get smaller tiles, for a tile of 64 × 64 pairs takes 512 bytes even for one. (Bisection in the sorted keys
takes less memory still, but its nested look-ups cannot be compiled.)
"""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Integers
from anyformer.errors import PatternError
from anyformer.extras import require
from anyformer.patterns.exchange.adjacency import MaskMod
from anyformer.patterns.exchange.block_shares import MOST_BLOCK_SHARE, require_sparse_blocks, touched_blocks
from anyformer.patterns.neighbours import Neighbours, each_once
from anyformer.patterns.pattern import Layer, SparsityPattern
from anyformer.patterns.sizes import whole_number

_TILES = (64, 32, 16, 8)  # tokens in a tile, both ways
_MOST_BYTES = 2**30


def mask_mod(pattern: SparsityPattern, layer: int = 0, device: str = "cpu") -> MaskMod:
    """The layer as a FlexAttention `mask_mod(b, h, q_idx, kv_idx)`; head h uses list h mod their number.

    Args:
        pattern: of any length; pairs outside it must not be asked for.
        layer: which layer of the network.
        device: where the attention will run.

    Returns:
        A function of integer tensors. It keeps t²/8 bytes for each tile of t × t pairs with a connection, and 4 for
        each of the (n/t)² places, with the t that takes least. More than 1 GiB is refused.
    """
    torch = require_torch()
    lists = pattern.layers[layer % pattern.period]
    size = _tile_size(lists)
    tiles, bits = (torch.from_numpy(part).to(device) for part in _tiles(lists, size))
    heads = len(lists)

    def mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        """Whether this head lets the query see the key."""
        tile = tiles[h % heads, q_idx // size, kv_idx // size]
        return ((bits[tile, q_idx % size, (kv_idx % size) // 8] >> (kv_idx % 8)) & 1) == 1

    return mask


def block_mask(
    pattern: SparsityPattern,
    layer: int = 0,
    heads: int | None = None,
    block_size: int = 128,
    device: str = "cpu",
    most_share: float = MOST_BLOCK_SHARE,
) -> Any:
    """The layer as a FlexAttention BlockMask, counted from its connections; refused where it would be dense after all.

    Args:
        pattern: of the length of the sequences.
        layer: which layer of the network.
        heads: how many the attention has; needed only if the layer has several lists.
        block_size: tokens in a block, both ways.
        device: where the attention will run.
        most_share: of all blocks, how many may be computed although few of their pairs are connections.

    Returns:
        A `torch.nn.attention.flex_attention.BlockMask` for any batch size.
    """
    torch, block_size = require_torch(), whole_number("block_size", block_size, least=1)
    lists = pattern.layers[layer % pattern.period]
    heads = whole_number("heads", len(lists) if heads is None else heads, least=1)
    if heads % len(lists):
        raise PatternError(
            f"heads must be a multiple of the {len(lists)} lists of layer {layer}; got {heads}."
            " Give every list the same share of heads."
        )
    require_sparse_blocks(pattern, layer, block_size, most_share)
    tables = [_blocks(one, block_size) for one in lists]
    # One table serves all heads unless there are several lists.
    shown = [tables[head % len(lists)] for head in range(heads if len(lists) > 1 else 1)]
    parts = [torch.from_numpy(np.stack(part)[None]).to(device) for part in zip(*shown, strict=True)]
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    return flex.BlockMask.from_kv_blocks(
        *parts,
        BLOCK_SIZE=block_size,
        mask_mod=mask_mod(pattern, layer, device),
        seq_lengths=(pattern.tokens, pattern.tokens),
    )


def require_torch() -> Any:
    """PyTorch, or an error with the command that installs it."""
    return require("torch", extra="bert", what="FlexAttention")


def _tile_size(lists: Layer) -> int:
    """The size of tiles with which a mask takes least memory."""
    needed = {size: _bytes_of_tiles(lists, size) for size in _TILES}
    best = min(_TILES, key=needed.__getitem__)
    if needed[best] > _MOST_BYTES:
        raise PatternError(
            f"a mask must take at most {_MOST_BYTES:,} bytes; that of {lists[0].tokens:,} tokens would take"
            f" {needed[best]:,}. Take shorter sequences, or the lists themselves: to_arrays."
        )
    return best


def _bytes_of_tiles(lists: Layer, size: int) -> int:
    places = len(lists) * _rows(lists, size) ** 2
    # Where the table of places alone is too large, nobody needs to know how many of them are used.
    used = 0 if 4 * places > _MOST_BYTES else sum(len(touched_blocks(one, size)[0]) for one in lists)
    return 4 * places + (used + 1) * size * size // 8


def _tiles(lists: Layer, size: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """The number of the tile at every place, shape (lists, n/size, n/size), and the bits of each; tile 0 is empty."""
    rows = _rows(lists, size)
    places = [(one.queries() // size) * rows + one.indices // size + head * rows**2 for head, one in enumerate(lists)]
    used = each_once(np.concatenate(places))
    tiles = np.zeros(len(lists) * rows**2, dtype=np.int32)
    tiles[used] = np.arange(1, len(used) + 1)
    bits = np.zeros((len(used) + 1, size, size // 8), dtype=np.uint8)
    for one, place in zip(lists, places, strict=True):
        within, key = one.queries() % size, one.indices % size
        np.bitwise_or.at(bits, (tiles[place], within, key // 8), (1 << key % 8).astype(np.uint8))
    return tiles.reshape(len(lists), rows, rows), bits


def _rows(lists: Layer, size: int) -> int:
    return -(-lists[0].tokens // size)


def _blocks(neighbours: Neighbours, size: int) -> tuple[Any, Any, Any, Any]:
    """Counts and places of the blocks that are seen in part, then of those seen as a whole."""
    rows = -(-neighbours.tokens // size)
    found, sizes = touched_blocks(neighbours, size)
    whole = sizes == size * size
    return (*_table(found[~whole], rows), *_table(found[whole], rows))


def _table(codes: Integers, rows: int) -> tuple[Any, Any]:
    """How many blocks there are in every row, and which, the rest filled with blocks that are not read."""
    dense = np.zeros((rows, rows), dtype=np.bool_)
    dense[codes // rows, codes % rows] = True
    places = np.argsort(~dense, axis=1, kind="stable")
    return dense.sum(axis=1, dtype=np.int32), places.astype(np.int32)
