"""Average attention: every token gets the mean of all tokens."""

from dataclasses import dataclass
from typing import final

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
