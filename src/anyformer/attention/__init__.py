"""Sparse attention for training and inference, at a cost that is linear in the pairs of its pattern. Needs PyTorch."""

from anyformer.errors import AttentionError
from anyformer.extras import require

require("torch", extra="torch", what="sparse attention")

from anyformer.attention.sparse import sparse_attention

__all__ = ["AttentionError", "sparse_attention"]
