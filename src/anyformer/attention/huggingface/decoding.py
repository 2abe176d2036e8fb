"""Attention of the newest queries over cached keys, when a decoder writes one token after another.

A cache holds what earlier tokens became when they saw what the pattern of *their* length allowed. That is what they
would become today only if the pattern of today's length has the same rows for them. Windows and relays do; a stride of
about √n does not, and is refused.
"""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from anyformer.attention.plans import Pattern, layers_of
from anyformer.attention.widening import NARROW
from anyformer.errors import AttentionError
from anyformer.patterns.neighbours import Neighbours


def attend_newest(
    q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, keep: Tensor | None, scale: float | None, *, layer: int
) -> Tensor:
    """The last rows of sparse attention: q is (batch, heads, queries, size), k and v have all tokens.

    Only the keys that a query sees are read.
    """
    (_, heads, queries, size), tokens = q.shape, k.shape[2]
    lists, before = (
        layers[layer % len(layers)] for layers in (layers_of(pattern, count) for count in (tokens, tokens - queries))
    )
    if len(lists) != len(before) or not all(map(_goes_on, lists, before)):
        raise AttentionError(
            "with a cache, a pattern must have the same rows at every length; from"
            f" {tokens - queries} to {tokens} tokens they change. Fix the pattern's stride or block, or generate with"
            " use_cache=False."
        )
    scale = size**-0.5 if scale is None else scale
    dtype = torch.float32 if q.dtype in NARROW else q.dtype
    out = torch.empty_like(q)
    for head in range(heads):
        for row in range(queries):
            seen = torch.from_numpy(lists[head % len(lists)].keys_of(tokens - queries + row).copy()).to(q.device)
            scores = (k[:, head, seen].to(dtype) @ q[:, head, row, :, None].to(dtype)).squeeze(-1) * scale
            if keep is not None:
                scores = scores.masked_fill(keep[:, seen] == 0, -torch.inf)
            weights = scores.softmax(dim=-1).nan_to_num()  # nothing seen: zeros
            out[:, head, row] = (weights[:, None, :] @ v[:, head, seen].to(dtype)).squeeze(1).to(q.dtype)
    return out


@lru_cache(maxsize=256)
def _goes_on(now: Neighbours, before: Neighbours) -> bool:
    """Whether a list starts with the rows of a shorter one."""
    rows, pairs = before.tokens + 1, before.connections
    return np.array_equal(now.indptr[:rows], before.indptr) and np.array_equal(now.indices[:pairs], before.indices)
