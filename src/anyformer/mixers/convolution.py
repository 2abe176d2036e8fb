"""SepConv: a depth-wise convolution along the tokens, gated or not, with filters shared by groups of channels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, final

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, glu, pad

from anyformer.mixers.mixer import Mixer, TokenMixer, divides, is_exported, positive

# When the matrix form is faster than conv2d, measured forward and backward at 768 channels and 16 filters: 1.5 times
# at 31 taps, 3 to 5 times at 128, on 128 and on 512 tokens alike; at 7 taps conv2d is 3 to 5 times faster.
LONG, SHORT = 24, 4
MOST_TAPS, MOST_FILTERS = 1 << 16, 1 << 16
"""Upper limits against typing errors; configs and recipes, which know sequences and width, check tighter ones."""


class DepthwiseConvolution(TokenMixer):
    """Token j gets Σ_t W_C[f, t] · token (j + t − before); channel c uses filter f = ⌊c·filters/width⌋.

    `before` is how many taps lie on earlier tokens: ⌊kernel/2⌋ by default, kernel − 1 for a causal convolution.
    """

    def __init__(self, width: int, kernel: int, filters: int, before: int | None = None) -> None:
        super().__init__(width)
        positive("kernel", kernel, MOST_TAPS)
        divides("filters", filters, width)
        self.kernel, self.before = kernel, kernel // 2 if before is None else before
        self.W_C = nn.Parameter(torch.empty(filters, kernel))
        self.reset_parameters()

    def reset_parameters(self, normal: Callable[..., Any] = nn.init.normal_) -> None:
        """Normal, so that the filters keep the scale of what they read: kernel terms of variance 1/kernel."""
        normal(self.W_C, std=self.kernel**-0.5)

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """Convolve, with zeros for padding and beyond the ends."""
        real = hidden if keep is None else hidden.masked_fill(~keep[..., None], 0.0)
        if not is_exported() and self.kernel >= LONG and hidden.shape[1] <= SHORT * self.kernel:
            return by_matrices(real, self.W_C, self.before)
        return by_image(real, self.W_C, self.before)


@final
class SeparableConvolution(DepthwiseConvolution):
    """A depth-wise convolution of gated tokens: half of a projection to twice the width, by the rest's sigmoid."""

    def __init__(self, width: int, kernel: int, filters: int, before: int | None = None) -> None:
        super().__init__(width, kernel, filters, before)
        self.gate = nn.Linear(width, 2 * width)

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """Gate each token, then convolve."""
        return super().mix(glu(self.gate(hidden), dim=-1), keep)


def by_image(real: Tensor, filters: Tensor, before: int) -> Tensor:
    """Convolve (batch, tokens, width) with (filters, kernel), in a time that is linear in both lengths.

    The tokens are, without a copy, an image of height 1 with its channels last. As such they take the fast depth-wise
    kernels, which one-dimensional convolution does not.
    """
    (_, tokens, width), count = real.shape, len(filters)
    image = real.transpose(1, 2).unsqueeze(2)
    for_each = filters.repeat_interleave(width // count, dim=0)[:, None, None, :]
    # Both sides are padded alike, for the longer one; what that adds at either end is left out.
    padding = max(before, filters.shape[1] - 1 - before)
    mixed = conv2d(image, for_each, padding=(0, padding), groups=width)
    return mixed[..., padding - before : padding - before + tokens].squeeze(2).transpose(1, 2)


def by_matrices(real: Tensor, filters: Tensor, before: int) -> Tensor:
    """The same as one batched matrix product: the channels that share a filter share its matrix, tokens × tokens."""
    (batch, tokens, width), (count, kernel) = real.shape, filters.shape
    # Row j of a filter's matrix is the filter moved by j: a window on the filter between enough zeros, or a part of it.
    room = (tokens - 1 - before, tokens - kernel + before)
    # Not by `unfold`, for which torch.compile would make another graph for each length.
    moved = pad(filters, room).as_strided((count, tokens, tokens), (2 * tokens - 1, 1, 1))
    matrices = moved.flip(1)
    grouped = real.reshape(batch, tokens, count, width // count).permute(2, 1, 0, 3).reshape(count, tokens, -1)
    mixed = torch.bmm(matrices, grouped).view(count, tokens, batch, -1)
    return mixed.permute(2, 1, 0, 3).reshape(batch, tokens, width)


@dataclass(frozen=True)
class _Filters(Mixer):
    kernel: int = 128
    filters: int = 16

    def __post_init__(self) -> None:
        positive("kernel", self.kernel, MOST_TAPS)
        positive("filters", self.filters, MOST_FILTERS)

    def useful(self, longest: int) -> Mapping[str, int]:
        """A token reaches the others within longest − 1 on either side."""
        return {"kernel": 2 * longest - 1}


@final
@dataclass(frozen=True)
class Convolution(_Filters):
    """SepConv of so many taps and filters; with its gate, the defaults are what the paper's parameters amount to."""

    def build(self, width: int, dropout: float = 0.0) -> SeparableConvolution:
        """The module, with fresh parameters; no weights are dropped."""
        return SeparableConvolution(width, self.kernel, self.filters)

    def causal(self) -> "CausalConvolution":
        """As many taps, all on the token and the ones before it."""
        return CausalConvolution(self.kernel, self.filters)


@final
@dataclass(frozen=True)
class PlainConvolution(_Filters):
    """SepConv as the paper's formula has it, X + W_O (X * W_C): without a gate."""

    def build(self, width: int, dropout: float = 0.0) -> DepthwiseConvolution:
        """The module, with fresh parameters; no weights are dropped."""
        return DepthwiseConvolution(width, self.kernel, self.filters)

    def causal(self) -> "CausalPlainConvolution":
        """As many taps, all on the token and the ones before it."""
        return CausalPlainConvolution(self.kernel, self.filters)


@dataclass(frozen=True)
class _CausalFilters(_Filters):
    def useful(self, longest: int) -> Mapping[str, int]:
        """A token reaches the longest − 1 before it, and itself."""
        return {"kernel": longest}

    def causal(self) -> Self:
        """Itself."""
        return self


@final
@dataclass(frozen=True)
class CausalConvolution(_CausalFilters):
    """SepConv whose last tap is on the token itself and whose other taps are on those before it."""

    def build(self, width: int, dropout: float = 0.0) -> SeparableConvolution:
        """The module, with fresh parameters; no weights are dropped."""
        return SeparableConvolution(width, self.kernel, self.filters, before=self.kernel - 1)


@final
@dataclass(frozen=True)
class CausalPlainConvolution(_CausalFilters):
    """The same without a gate."""

    def build(self, width: int, dropout: float = 0.0) -> DepthwiseConvolution:
        """The module, with fresh parameters; no weights are dropped."""
        return DepthwiseConvolution(width, self.kernel, self.filters, before=self.kernel - 1)
