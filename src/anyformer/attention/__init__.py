"""Sparse attention for training and inference, at a cost that is linear in the pairs of its pattern. Needs PyTorch."""

import importlib
from typing import TYPE_CHECKING, Any

from anyformer.errors import AttentionError
from anyformer.extras import require

require("torch", extra="torch", what="sparse attention")

from anyformer.attention.module import SparseAttention
from anyformer.attention.sparse import sparse_attention

if TYPE_CHECKING:
    from anyformer.attention.huggingface import use_sparse_attention

__all__ = ["AttentionError", "SparseAttention", "sparse_attention", "use_sparse_attention"]


def __getattr__(name: str) -> Any:
    """What needs `transformers`, when it is asked for: it takes seconds to import."""
    if name in __all__:
        return getattr(importlib.import_module("anyformer.attention.huggingface"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
