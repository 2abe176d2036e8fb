"""FNet's mixing: a Fourier transform over the tokens and over the width, of which the real part is kept.

Lee-Thorp et al., 2021, "FNet: Mixing Tokens with Fourier Transforms" (https://arxiv.org/abs/2105.03824).
"""

import math
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from anyformer.mixers.mixer import Mixer, TokenMixer, is_traced, positive


@final
class FourierTransform(TokenMixer):
    """Re(F_n X F_d) / √(n·d) for the n kept tokens, in their order, of width d; no parameters of its own.

    FNet leaves the sums as they are, n·d terms each, and has a norm right after them. Here W_O and the residual come
    first: divided by √(n·d), the transform keeps lengths, and the residual meets sums of its own size for every n.
    """

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """Transform; padding takes no part, wherever it stands, and n does not count it."""
        # The fast transform knows no padding and no half precision, and its complex numbers suit no compiled graph.
        exact = hidden if hidden.dtype in (torch.float32, torch.float64) else hidden.float()
        if not is_traced() and (keep is None or bool(keep.all())):
            return torch.fft.fft2(exact, dim=(1, 2), norm="ortho").real.to(hidden.dtype)
        keep = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device) if keep is None else keep
        real = exact.masked_fill(~keep[..., None], 0.0)
        cosines, sines = _over_width(real)
        # The k-th kept token is number k, whatever stands between; padding is zero, so its number does not matter.
        numbers, count = keep.cumsum(dim=1) - 1, keep.sum(dim=1, keepdim=True).clamp(min=1)
        over_tokens = _angles(numbers, count, real.dtype)
        scale = count[:, :, None].to(real.dtype).rsqrt()
        return ((over_tokens.cos() @ cosines - over_tokens.sin() @ sines) * scale).to(hidden.dtype)


def _over_width(real: Tensor) -> tuple[Tensor, Tensor]:
    """X cos and X sin of the width's angles: Re(X F) and −Im(X F), divided by √d."""
    if not is_traced():
        transformed = torch.fft.fft(real, dim=2, norm="ortho")
        return transformed.real, -transformed.imag
    width = torch.full((1, 1), real.shape[2], device=real.device)
    angles = _angles(torch.arange(real.shape[2], device=real.device)[None], width, real.dtype)[0]
    scale = real.shape[2] ** -0.5
    return real @ (scale * angles.cos()), real @ (scale * angles.sin())


def _angles(numbers: Tensor, count: Tensor, dtype: torch.dtype) -> Tensor:
    """(rows, k, k): 2π·i·j/count for the k numbers of a row; whole turns are taken off before rounding."""
    count = count[:, :, None]
    beyond_whole_turns = (numbers[:, :, None] * numbers[:, None, :]).remainder(count)
    return beyond_whole_turns.to(dtype) * (2 * math.pi / count.to(dtype))


@final
@dataclass(frozen=True)
class Fourier(Mixer):
    """FNet's Fourier transform over tokens and width."""

    def build(self, width: int, dropout: float = 0.0) -> FourierTransform:
        """The module; there are no weights to drop."""
        positive("width", width)
        return FourierTransform(width)
