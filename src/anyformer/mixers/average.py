"""Average attention: every token gets the mean of all tokens, or, where it is causal, of those up to itself."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from anyformer.mixers.mixer import Mixer, TokenMixer, positive


@final
class AverageAttention(TokenMixer):
    """The mean of the kept tokens, for every token the same; no parameters of its own."""

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """The mean for every token, without copying it."""
        return _mean(hidden, keep).expand_as(hidden)

    def projected(self, hidden: Tensor, attention_mask: Tensor | None, projection: nn.Module) -> Tensor:
        """Mean, then project: one token a sequence goes through the projection instead of all."""
        mean: Tensor = projection(_mean(hidden, self.kept(hidden, attention_mask)))
        return mean.expand(-1, hidden.shape[1], -1)


@final
class CumulativeAverageAttention(TokenMixer):
    """For every token the mean of the kept tokens up to itself; no parameters of its own."""

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """Sums so far by counts so far."""
        if keep is None:
            real, counts = hidden, torch.arange(1, hidden.shape[1] + 1, device=hidden.device)
        else:
            real, counts = hidden.masked_fill(~keep[..., None], 0.0), keep.long().cumsum(dim=1).clamp(min=1)
        # A sum of thousands of tokens needs more digits than bfloat16 has.
        wide = torch.promote_types(hidden.dtype, torch.float32)
        return (real.cumsum(dim=1, dtype=wide) / counts[..., None]).to(hidden.dtype)


def _mean(hidden: Tensor, keep: Tensor | None) -> Tensor:
    """(batch, 1, width); zeros where nothing is kept."""
    if keep is None:
        return hidden.mean(dim=1, keepdim=True)
    shares = keep.to(hidden.dtype) / keep.sum(dim=1, keepdim=True).clamp(min=1)
    return shares[:, None, :] @ hidden


@final
@dataclass(frozen=True)
class Average(Mixer):
    """Average attention."""

    def build(self, width: int, dropout: float = 0.0) -> AverageAttention:
        """The module; there are no weights to drop."""
        positive("width", width)
        return AverageAttention(width)

    def causal(self) -> "CumulativeAverage":
        """The mean so far."""
        return CumulativeAverage()


@final
@dataclass(frozen=True)
class CumulativeAverage(Mixer):
    """Average attention to earlier tokens."""

    def build(self, width: int, dropout: float = 0.0) -> CumulativeAverageAttention:
        """The module; there are no weights to drop."""
        positive("width", width)
        return CumulativeAverageAttention(width)

    def causal(self) -> "CumulativeAverage":
        """Itself."""
        return self
