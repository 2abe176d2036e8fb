"""Attention in which each query sees only the keys that a pattern allows, at a cost that is linear in these pairs."""

import importlib
import math

import torch
from torch import Tensor

from anyformer.attention.backends import DTYPES, FLEX, chosen
from anyformer.attention.operator import attend
from anyformer.attention.plans import Pattern, layers_of, tensors_for
from anyformer.errors import AttentionError
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import Layer
from anyformer.whole_numbers import whole_number


@torch.compiler.disable  # plans are made and kept outside of graphs; a compiled model calls this between its graphs
def sparse_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: Pattern,
    attention_mask: Tensor | None = None,
    scale: float | None = None,
    *,
    layer: int = 0,
    backend: str | None = None,
) -> Tensor:
    """softmax(scale·q kᵀ) v over the pairs of a pattern; gradients flow to q, k and v.

    Pairs outside the pattern are never computed, or computed and dropped within a tile: no logit, however large, leaks
    through. A query that sees nothing gets zeros. No tensor of tokens × tokens is made.

    Args:
        q: (batch, heads, tokens, head_size), float32 or float64, of any strides.
        k: of the same shape.
        v: of the same shape.
        pattern: a family, such as SlidingWindow(64), or a pattern of this length.
        attention_mask: (batch, tokens), 1 = keep and 0 = padding, which no query sees; None keeps all.
        scale: of the scores, 1/√head_size if none is given.
        layer: which layer of the network this is; layer l uses layer l mod period of the pattern. Where a layer has
            several lists, head h uses list h mod their number.
        backend: "numba" (CPU) or "gather" (PyTorch alone, any device), the best one if none is given; or "flex",
            FlexAttention, on CUDA and only for patterns that touch at most half of the blocks of 128 × 128 pairs.

    Returns:
        (batch, heads, tokens, head_size).

    Example:
        >>> import torch
        >>> from anyformer.attention import sparse_attention
        >>> from anyformer.patterns import Longformer
        >>> q, k, v = torch.randn(3, 2, 8, 1000, 64).unbind()
        >>> sparse_attention(q, k, v, Longformer(half_width=64, global_tokens=4)).shape
        torch.Size([2, 8, 1000, 64])
    """
    check_tensors(q, k, v)
    batch, heads, tokens, _ = q.shape
    keep = kept(attention_mask, batch, tokens)
    backend = chosen(backend, q.device)
    layers = layers_of(pattern, tokens)
    lists = layers[whole_number("layer", layer, least=0, error=AttentionError) % len(layers)]
    scale = q.shape[-1] ** -0.5 if scale is None else float(scale)
    if not math.isfinite(scale):
        raise AttentionError(f"scale must be a finite number; got {scale}.")
    if backend == FLEX:
        return _flex(q, k, v, keep, lists, scale)
    if len(lists) == 1 or heads == 1:
        return _attend(q, k, v, keep, lists[0], scale, backend)
    count = min(len(lists), heads)
    parts = [
        _attend(q[:, i::count], k[:, i::count], v[:, i::count], keep, lists[i], scale, backend) for i in range(count)
    ]
    # Part i has the heads i, i + count, …; `order` takes them back to their places.
    order = torch.cat([torch.arange(heads)[i::count] for i in range(count)]).argsort()
    return torch.cat(parts, dim=1)[:, order]


def _attend(
    q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, neighbours: Neighbours, scale: float, backend: str
) -> Tensor:
    batch, heads = q.shape[:2]
    flat = (x.flatten(0, 1).contiguous() for x in (q, k, v))
    out, _ = attend(*flat, keep, tensors_for(neighbours, backend, q.device), scale, backend)
    return out.unflatten(0, (batch, heads))


def _flex(q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, layer: Layer, scale: float) -> Tensor:
    flex = importlib.import_module("anyformer.attention.flex")  # late: it imports the compiler
    out: Tensor = flex.attend(q, k, v, keep, layer, scale)
    return out


def check_tensors(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise AttentionError unless the three fit together."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not isinstance(x, Tensor):
            raise AttentionError(f"{name} must be a PyTorch tensor; got {type(x).__name__}.")
        if x.dim() != 4 or 0 in x.shape:
            raise AttentionError(
                f"{name} must have the shape (batch, heads, tokens, head_size), none of them 0; got {tuple(x.shape)}."
            )
        if x.dtype not in DTYPES:
            raise AttentionError(f"{name} must be float32 or float64; got {x.dtype}. Convert it: {name}.float().")
        if x.shape != q.shape or x.dtype != q.dtype or x.device != q.device:
            raise AttentionError(
                f"q, k and v must have one shape, type and device; q is {tuple(q.shape)} of {q.dtype} on {q.device},"
                f" {name} is {tuple(x.shape)} of {x.dtype} on {x.device}. Repeat grouped key-value heads first."
            )


def kept(attention_mask: Tensor | None, batch: int, tokens: int) -> Tensor | None:
    """The mask as bytes, or None where it keeps all."""
    if attention_mask is None:
        return None
    if attention_mask.shape != (batch, tokens):
        raise AttentionError(
            f"attention_mask must have the shape (batch, tokens) = ({batch}, {tokens}), 1 = keep; got"
            f" {tuple(attention_mask.shape)}. Pairs are chosen by the pattern; the mask is for padding alone."
        )
    if attention_mask.is_floating_point() and not ((attention_mask == 0) | (attention_mask == 1)).all():
        raise AttentionError(
            "attention_mask must hold 1 = keep and 0 = padding; got other numbers. Give no additive mask."
        )
    return (attention_mask != 0).to(torch.uint8).contiguous()
