"""Self-attention, with which the other mixers are compared."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout as drop
from torch.nn.functional import scaled_dot_product_attention

from anyformer.mixers.mixer import Mixer, TokenMixer, divides, is_traced, positive

MOST_HEADS = 1 << 16
"""Far more than any network has."""


class AttentionHeads(TokenMixer):
    """Queries, keys and values of several heads, with the names and shapes of BERT's weights."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__(width)
        divides("heads", heads, width)
        self.heads, self.dropout = heads, dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def weights(self, hidden: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """(batch, heads, queries, keys): the softmax itself; zeros for a query that sees nothing."""
        keep = self.kept(hidden, attention_mask)
        query, key = self.split(self.query, hidden), self.split(self.key, hidden)
        scores = query @ key.transpose(2, 3) * query.shape[-1] ** -0.5
        seen = self.seen(hidden, keep)
        if seen is None:
            return scores.softmax(dim=-1)
        some = seen.any(dim=-1, keepdim=True)
        # Softmax needs a key: a query that sees nothing looks at all, and its zeros come afterwards.
        return scores.masked_fill(~(seen | ~some), -torch.inf).softmax(dim=-1).masked_fill(~some, 0.0)

    @abstractmethod
    def seen(self, hidden: Tensor, keep: Tensor | None) -> Tensor | None:
        """Which keys a query sees, Boolean, for any shape that fits (batch, heads, queries, keys); None is all."""

    def split(self, projection: nn.Linear, hidden: Tensor) -> Tensor:
        """(batch, heads, tokens, head_size)."""
        return projection(hidden).unflatten(-1, (self.heads, -1)).transpose(1, 2)


@final
class SelfAttention(AttentionHeads):
    """Softmax attention in which each token sees all kept ones."""

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """Each token takes the mean of all kept ones, weighted by softmax."""
        query, key, value = (
            self.split(self.query, hidden),
            self.split(self.key, hidden),
            self.split(self.value, hidden),
        )
        dropout = self.dropout if self.training else 0.0
        # All keys where none is kept: softmax needs one, and zeros come afterwards.
        seen = None if keep is None else (keep | ~keep.any(dim=1, keepdim=True))[:, None, None, :]
        # In 16 bits on CPUs, both ways, the fused kernel takes three to six times as long as single products.
        attend = _attend_in_products if _is_narrow_on_cpu(query) else scaled_dot_product_attention
        mixed = attend(query, key, value, attn_mask=seen, dropout_p=dropout)
        mixed = mixed.transpose(1, 2).flatten(2)
        return mixed if keep is None else mixed.masked_fill(~keep.any(dim=1)[:, None, None], 0.0)

    def seen(self, hidden: Tensor, keep: Tensor | None) -> Tensor | None:
        """The kept keys."""
        return None if keep is None else keep[:, None, None, :]


def _is_narrow_on_cpu(query: Tensor) -> bool:
    return query.device.type == "cpu" and query.dtype in (torch.bfloat16, torch.float16) and not is_traced()


def _attend_in_products(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> Tensor:
    """Scaled dot-product attention from its definition: scores, softmax, mean."""
    scores = query * query.shape[-1] ** -0.5 @ key.transpose(2, 3)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    return drop(scores.softmax(dim=-1), dropout_p, training=dropout_p > 0) @ value


@final
class CausalSelfAttention(AttentionHeads):
    """Softmax attention in which each token sees itself and the kept ones before it; its weights: SelfAttention's."""

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """Each token takes the mean of the kept ones up to itself, weighted by softmax; padding takes zeros."""
        query, key, value = (self.split(part, hidden) for part in (self.query, self.key, self.value))
        dropout = self.dropout if self.training else 0.0
        narrow = _is_narrow_on_cpu(query)
        if keep is None and not narrow:
            mixed = scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
            return mixed.transpose(1, 2).flatten(2)
        earlier = _earlier(hidden)
        # Softmax needs a key, and padding at the start has none before it: each token sees itself at least.
        seen = earlier if keep is None else ((earlier & keep[:, None, :]) | (earlier & earlier.T))[:, None]
        attend = _attend_in_products if narrow else scaled_dot_product_attention
        mixed = attend(query, key, value, attn_mask=seen, dropout_p=dropout).transpose(1, 2).flatten(2)
        return mixed if keep is None else mixed.masked_fill(~keep[..., None], 0.0)

    def seen(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """The kept keys up to the query itself."""
        earlier = _earlier(hidden)
        return earlier if keep is None else earlier & keep[:, None, None, :]


def _earlier(hidden: Tensor) -> Tensor:
    """(queries, keys): whether the key is the query or comes before it."""
    places = torch.arange(hidden.shape[1], device=hidden.device)
    return places[:, None] >= places


@final
@dataclass(frozen=True)
class Attention(Mixer):
    """Self-attention of so many heads."""

    heads: int = 12

    def __post_init__(self) -> None:
        positive("heads", self.heads, MOST_HEADS)

    def build(self, width: int, dropout: float = 0.0) -> SelfAttention:
        """The module, with fresh parameters."""
        return SelfAttention(width, self.heads, dropout)

    def causal(self) -> "CausalAttention":
        """As many heads."""
        return CausalAttention(self.heads)


@final
@dataclass(frozen=True)
class CausalAttention(Mixer):
    """Self-attention of so many heads to earlier tokens."""

    heads: int = 12

    def __post_init__(self) -> None:
        positive("heads", self.heads, MOST_HEADS)

    def build(self, width: int, dropout: float = 0.0) -> CausalSelfAttention:
        """The module, with fresh parameters."""
        return CausalSelfAttention(width, self.heads, dropout)

    def same_weights_as(self) -> Attention:
        """Attention of as many heads: what a token may see has no weights."""
        return Attention(self.heads)

    def causal(self) -> "CausalAttention":
        """Itself."""
        return self
