"""Sparse attention for float16 and bfloat16: computed in float32, rounded once at the end."""

from typing import Any, Final

import torch
from torch import Tensor

from anyformer.attention.sparse import sparse_attention

NARROW: Final = (torch.float16, torch.bfloat16)


def attend_widened(q: Tensor, k: Tensor, v: Tensor, *given: Any, **named: Any) -> Tensor:
    """`sparse_attention`, with outputs of q's type."""
    if q.dtype not in NARROW:
        return sparse_attention(q, k, v, *given, **named)
    return sparse_attention(q.float(), k.float(), v.float(), *given, **named).to(q.dtype)
