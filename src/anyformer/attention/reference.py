"""What sparse attention means: dense attention with all n² scores, those outside the pattern hidden.

It is slow and obviously right. The fast code never imports it; tests compare the two.
"""

import torch
from torch import Tensor

from anyformer.patterns.pattern import SparsityPattern


def dense_masked_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: SparsityPattern,
    attention_mask: Tensor | None = None,
    scale: float | None = None,
    *,
    layer: int = 0,
) -> Tensor:
    """softmax(scale·q kᵀ) v over what each query sees, zeros where it sees nothing; arguments as of the fast one."""
    seen = seen_keys(pattern, layer, heads=q.shape[1])
    if attention_mask is not None:
        seen = seen & (attention_mask != 0)[:, None, None, :]
    scores = (q @ k.transpose(-1, -2)) * (q.shape[-1] ** -0.5 if scale is None else scale)
    weights = scores.masked_fill(~seen, -torch.inf).softmax(dim=-1)
    return torch.where(seen.any(dim=-1, keepdim=True), weights, 0.0) @ v


def seen_keys(pattern: SparsityPattern, layer: int, heads: int) -> Tensor:
    """(1, heads, tokens, tokens): whether a head lets a query see a key; head h uses list h mod their number."""
    lists = pattern.layers[layer % pattern.period]
    seen = torch.zeros(1, heads, pattern.tokens, pattern.tokens, dtype=torch.bool)
    for head in range(heads):
        neighbours = lists[head % len(lists)]
        queries, keys = torch.tensor(neighbours.queries()), torch.tensor(neighbours.indices)
        seen[0, head, queries, keys] = True
    return seen
