"""Self-attention in which each token sees only what a sparsity pattern allows, at a cost linear in these pairs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, final

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import dropout as drop

from anyformer import patterns
from anyformer.attention.plans import layers_of
from anyformer.attention.widening import attend_widened
from anyformer.errors import MixerError, PatternError
from anyformer.mixers.attention import MOST_HEADS, Attention, AttentionHeads
from anyformer.mixers.mixer import Mixer, positive
from anyformer.patterns import Longformer, PatternFamily

USUAL: Final = Longformer(half_width=64, global_tokens=1)
"""A window, and [CLS] as the relay between its ends."""


@final
class SparseSelfAttention(AttentionHeads):
    """Softmax attention over the pairs of a pattern; its weights are those of SelfAttention.

    In training, `dropout` drops a key of a head for all queries at once: as BERT does, after the softmax and with the
    rest scaled up, but one draw a key instead of one a pair, of which there is no tensor here.
    """

    without_onnx: ClassVar[str] = (
        "its pattern is made anew for each length, and a graph must serve every length."
        " Convert the BERT to Attention first, which has the same weights and sees all pairs"
    )

    def __init__(self, width: int, heads: int, pattern: PatternFamily, dropout: float = 0.0, *, layer: int = 0) -> None:
        super().__init__(width, heads, dropout)
        self.pattern, self.layer = pattern, layer

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """Each token takes the mean of the kept ones that it sees, weighted by softmax; zeros if it sees none."""
        query, key, value = (
            self.split(self.query, hidden),
            self.split(self.key, hidden),
            self.split(self.value, hidden),
        )
        if self.training and self.dropout:
            value = value * drop(value.new_ones(*value.shape[:3], 1), self.dropout)
        mixed = attend_widened(query, key, value, self.pattern, keep, layer=self.layer)
        return mixed.transpose(1, 2).flatten(2)

    def seen(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """The pairs of the pattern whose keys are kept."""
        layers = layers_of(self.pattern, hidden.shape[1])
        lists = layers[self.layer % len(layers)][: self.heads]
        dense = np.zeros((len(lists), hidden.shape[1], hidden.shape[1]), dtype=np.bool_)
        for matrix, neighbours in zip(dense, lists, strict=True):
            matrix[neighbours.queries(), neighbours.indices] = True
        seen = torch.from_numpy(dense[np.arange(self.heads) % len(lists)]).to(hidden.device)
        return seen if keep is None else seen & keep[:, None, None, :]

    def extra_repr(self) -> str:
        """What the sub-modules do not show."""
        return f"heads={self.heads}, pattern={patterns.in_short(self.pattern)}, layer={self.layer}"


@final
@dataclass(frozen=True)
class PatternAttention(Mixer):
    """Self-attention over a sparsity pattern: a family, or its notation, like longformer:half_width=64.

    Layer l of a BERT uses layer l of the pattern, and head h its list h, both counted in a cycle.

    >>> PatternAttention(4, "strided:stride=8").pattern.stride
    8
    """

    heads: int = 12
    pattern: PatternFamily = USUAL

    def __post_init__(self) -> None:
        positive("heads", self.heads, MOST_HEADS)
        object.__setattr__(self, "pattern", _family(self.pattern))

    def build(self, width: int, dropout: float = 0.0) -> SparseSelfAttention:
        """The module of the first layer, with fresh parameters."""
        return self.build_layer(0, width, dropout)

    def build_layer(self, layer: int, width: int, dropout: float = 0.0) -> SparseSelfAttention:
        """The module of this layer, with fresh parameters."""
        return SparseSelfAttention(width, self.heads, self.pattern, dropout, layer=layer)

    def same_weights_as(self) -> Attention:
        """Attention of as many heads: a pattern has no weights."""
        return Attention(self.heads)


def _family(pattern: object) -> PatternFamily:
    """The family that is given, or that its JSON object or its notation describes."""
    try:
        if isinstance(pattern, str):
            # Parentheses keep the commas of a pattern apart from those of the mixer.
            text = pattern.strip()
            return patterns.parse(text[1:-1] if text.startswith("(") and text.endswith(")") else text)
        made = patterns.from_json(pattern) if isinstance(pattern, Mapping) else pattern
        if isinstance(made, PatternFamily):
            patterns.to_json(made)
            return made
    except PatternError as error:
        raise MixerError(f"the pattern of a mixer must be one that a config can hold: {error}") from error
    raise MixerError(
        f"the pattern of a mixer must be a family such as SlidingWindow(64), which fits every length; got {made!r}."
        " For sequences of one length, call anyformer.attention.sparse_attention."
    )
