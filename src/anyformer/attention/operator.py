"""The operator that PyTorch sees: forward, backward and what they give, for one list of neighbours."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from anyformer.attention.backends import implementation


@torch.library.custom_op("anyformer::sparse_attention", mutates_args=())
def attend(
    q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, tiling: Sequence[Tensor], scale: float, backend: str
) -> tuple[Tensor, Tensor]:
    """Outputs and levels of contiguous q, k, v (heads, tokens, head_size); `keep` is (batch, tokens) of bytes."""
    return implementation(backend).forward(q, k, v, keep, tiling, scale)


@torch.library.custom_op("anyformer::sparse_attention_backward", mutates_args=())
def attend_backward(
    back: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, level: Tensor, keep: Tensor | None,
    tiling: Sequence[Tensor], scale: float, backend: str,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of q, k and v."""
    return implementation(backend).backward(back.contiguous(), q, k, v, out, level, keep, tiling, scale)


@attend.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, keep: Any, tiling: Any, scale: float, backend: str) -> tuple[Tensor, Tensor]:
    return torch.empty_like(q), q.new_empty(q.shape[:2])


@attend_backward.register_fake
def _(
    back: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, level: Tensor, keep: Any, tiling: Any, scale: float,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, keep, tiling, ctx.scale, ctx.backend = inputs
    ctx.has_keep = keep is not None
    ctx.save_for_backward(q, k, v, *output, *([keep] if keep is not None else []), *tiling)


def _backward(ctx: Any, back: Tensor, _: Tensor) -> tuple[Any, ...]:
    q, k, v, out, level, *rest = ctx.saved_tensors
    keep = rest.pop(0) if ctx.has_keep else None
    gradients = attend_backward(back, q, k, v, out, level, keep, rest, ctx.scale, ctx.backend)
    return (*gradients, None, [None] * len(rest), None, None)


attend.register_autograd(_backward, setup_context=_remember)
