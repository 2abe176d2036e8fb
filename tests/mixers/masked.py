"""The slow, obviously right version of sparse attention: PyTorch's dense attention under a pattern's mask."""

from dataclasses import dataclass

import torch
from torch import Tensor

from anyformer.mixers import Mixer
from anyformer.mixers.attention import AttentionHeads
from anyformer.patterns import PatternFamily, to_dense


class MaskedSelfAttention(AttentionHeads):
    """Every score is computed, and those outside the pattern are dropped."""

    def __init__(self, width: int, heads: int, pattern: PatternFamily, layer: int) -> None:
        super().__init__(width, heads)
        self.pattern, self.layer = pattern, layer

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        attention_mask = None if keep is None else keep.long()
        mixed = self.weights(hidden, attention_mask) @ self.split(self.value, hidden)
        return mixed.transpose(1, 2).flatten(2)

    def seen(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        layers = torch.from_numpy(to_dense(self.pattern.at(hidden.shape[1])))
        lists = layers[self.layer % len(layers)]
        seen = lists[torch.arange(self.heads) % len(lists)]
        return seen if keep is None else seen & keep[:, None, None, :]


@dataclass(frozen=True)
class Masked(Mixer):
    """Dense attention under the mask of a pattern."""

    heads: int
    pattern: PatternFamily

    def build(self, width: int, dropout: float = 0.0) -> MaskedSelfAttention:
        return self.build_layer(0, width, dropout)

    def build_layer(self, layer: int, width: int, dropout: float = 0.0) -> MaskedSelfAttention:
        return MaskedSelfAttention(width, self.heads, self.pattern, layer)
