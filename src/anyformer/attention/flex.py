"""Sparse attention by PyTorch's FlexAttention, on CUDA and for patterns that are sparse by blocks.

On a CPU it has no backward pass and is slower than dense attention. A pattern of scattered pairs touches every block,
so that it would compute dense attention under another name; `block_mask` refuses it with the share of blocks.
"""

from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

from anyformer.patterns.exchange.flex_attention import block_mask
from anyformer.patterns.pattern import Layer, SparsityPattern


def attend(q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, layer: Layer, scale: float) -> Tensor:
    """Outputs of q, k, v (batch, heads, tokens, head_size) on CUDA; `keep` is (batch, tokens) of bytes."""
    return call(_compiled(), q, k, v, keep, layer, scale)


def call(function: Any, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, layer: Layer, scale: float) -> Tensor:
    """The same by this version of `flex_attention`."""
    blocks = _blocks(layer, q.shape[1], q.device)
    attended = partial(function, q, k, v, block_mask=blocks, scale=scale)

    def hide_padding(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        # Not by the mask: it is not asked in blocks that are seen as a whole.
        assert keep is not None
        return torch.where(keep[b, kv_idx] != 0, score, -torch.inf)

    out: Tensor = attended() if keep is None else attended(score_mod=hide_padding)
    return out


@lru_cache(maxsize=64)
def _blocks(layer: Layer, heads: int, device: torch.device) -> Any:
    return block_mask(SparsityPattern((layer,)), heads=heads if len(layer) > 1 else None, device=str(device))


@lru_cache(maxsize=1)
def _compiled() -> Any:
    return torch.compile(flex_attention)
