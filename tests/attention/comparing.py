"""Sparse attention beside dense masked attention in float64."""

from dataclasses import dataclass

import torch
from torch import Tensor

from anyformer.attention import sparse_attention
from anyformer.attention.reference import dense_masked_attention

# What the two may differ by in float32 for standard normal inputs: outputs by an absolute amount, gradients in units of
# the largest one, since those of a hub are sums over all tokens.
WITHIN = 2e-6


@dataclass(frozen=True)
class Sizes:
    """Every axis has a size of its own."""

    batch: int = 2
    heads: int = 3
    tokens: int = 97
    head_size: int = 8


def random_inputs(sizes: Sizes, dtype=torch.float32, seed: int = 0) -> list[Tensor]:
    """q, k, v and what comes back to the outputs."""
    generator = torch.Generator().manual_seed(seed)
    shape = sizes.batch, sizes.heads, sizes.tokens, sizes.head_size
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for _ in range(4)]


def padding(sizes: Sizes) -> Tensor:
    """(batch, tokens): the first sequence keeps every third token, the next ones half, none, all."""
    lengths = torch.tensor([sizes.tokens, sizes.tokens // 2, 0, sizes.tokens]).repeat(sizes.batch)[: sizes.batch]
    mask = (torch.arange(sizes.tokens) < lengths[:, None]).long()
    mask[0, 1::3] = 0
    return mask


def differences(inputs, pattern, attention_mask=None, scale=None, **how) -> tuple[float, float]:
    """The largest difference of outputs, and the largest relative one of the three gradients."""
    *tensors, back = inputs
    ours = [x.detach().requires_grad_() for x in tensors]
    theirs = [x.detach().double().requires_grad_() for x in tensors]
    at_length = pattern.at(back.shape[2]) if hasattr(pattern, "at") else pattern
    out = sparse_attention(*ours, pattern, attention_mask, scale, **how)
    wanted = dense_masked_attention(*theirs, at_length, attention_mask, scale, layer=how.get("layer", 0))
    gradients = zip(
        torch.autograd.grad(out, ours, back), torch.autograd.grad(wanted, theirs, back.double()), strict=True
    )
    relative = [float((one - other).abs().max() / other.abs().max().clamp(min=1e-30)) for one, other in gradients]
    return float((out - wanted).detach().abs().max()), max(relative)


def assert_close(inputs, pattern, attention_mask=None, scale=None, within=WITHIN, **how) -> None:
    """NaN is not close to anything."""
    output, gradient = differences(inputs, pattern, attention_mask, scale, **how)
    assert output <= within, f"outputs differ by {output:.1e}"
    assert gradient <= within, f"gradients differ by {gradient:.1e}"
