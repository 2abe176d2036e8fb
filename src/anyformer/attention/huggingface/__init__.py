"""Sparse attention in the models of `transformers`, as they are."""

from anyformer.extras import require

require("transformers", extra="bert", what="sparse attention in Hugging Face models")

from anyformer.attention.huggingface.using import use_sparse_attention

__all__ = ["use_sparse_attention"]
