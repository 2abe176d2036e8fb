"""Mixers and batches with a different size on every axis."""

import torch

from anyformer.mixers import (
    Attention,
    Average,
    Bilinear,
    Convolution,
    Fourier,
    Mixer,
    PatternAttention,
    PlainConvolution,
)
from anyformer.patterns import Longformer, Multihead, SlidingWindow

WIDTH = 6
MIXERS: dict[str, Mixer] = {
    "attention": Attention(heads=2),
    "average": Average(),
    "bilinear": Bilinear(max_length=13),
    "convolution, even": Convolution(kernel=4, filters=3),
    "convolution, odd": Convolution(kernel=5, filters=2),
    "convolution without a gate": PlainConvolution(kernel=5, filters=3),
    "convolution, longer than the sequence": Convolution(kernel=40, filters=6),
    "fourier": Fourier(),
    "sparse attention": PatternAttention(heads=2, pattern=Longformer(half_width=1, global_tokens=1)),
    "sparse attention, heads that differ": PatternAttention(3, Multihead((SlidingWindow(2), SlidingWindow(0)))),
}


def batch(lengths: tuple[int, ...] = (5, 2, 0, 4), width: int = WIDTH) -> tuple[torch.Tensor, torch.Tensor]:
    """Float64 sequences of these lengths, padded on the right, and their mask."""
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(len(lengths), max(lengths), width, dtype=torch.float64, generator=generator)
    return hidden, (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()


def rounding(terms: int, largest: float, dtype: torch.dtype = torch.float64) -> float:
    """Two orders of adding so many products of this size differ by at most a rounding for each, on both sides."""
    return 2 * terms * torch.finfo(dtype).eps * largest
