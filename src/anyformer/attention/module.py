"""Sparse attention as a layer, in the place of PyTorch's `nn.MultiheadAttention`."""

from typing import Any, final

import torch
from torch import Tensor, nn

from anyformer.attention.plans import Pattern
from anyformer.attention.widening import attend_widened
from anyformer.errors import AttentionError
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern
from anyformer.whole_numbers import whole_number


@final
class SparseAttention(nn.Module):
    """`nn.MultiheadAttention` over the pairs of a pattern: its arguments, its weights' names, shapes and first values.

    A state_dict of the one loads into the other. What has no meaning here is refused: weights to drop or to return,
    masks of pairs, queries that are no keys.

    Args:
        embed_dim: numbers per token, of inputs and outputs.
        num_heads: how many heads share them.
        pattern: a family, such as SlidingWindow(64), or a pattern of the one length that will be given.
        dropout: must be 0.
        bias: whether projections have biases.
        batch_first: (batch, tokens, embed_dim) instead of (tokens, batch, embed_dim).
        layer: which layer of the network this is; layer l uses layer l mod period of the pattern.
        **options: device and dtype of the weights. add_bias_kv, add_zero_attn, kdim and vdim must be left out or as in
            self-attention.

    Example:
        >>> import torch
        >>> from anyformer.attention import SparseAttention
        >>> from anyformer.patterns import SlidingWindow
        >>> attention = SparseAttention(64, 4, SlidingWindow(16), batch_first=True)
        >>> x = torch.randn(2, 100, 64)
        >>> attention(x, x, x)[0].shape
        torch.Size([2, 100, 64])
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        pattern: Pattern,
        dropout: float = 0.0,
        bias: bool = True,
        batch_first: bool = False,
        *,
        layer: int = 0,
        **options: Any,
    ) -> None:
        super().__init__()
        if not isinstance(pattern, PatternFamily | SparsityPattern):
            raise AttentionError(
                f"pattern must be a family such as SlidingWindow(64), or a SparsityPattern; got {pattern!r}."
            )
        if dropout:
            raise AttentionError(f"dropout must be 0: sparse attention drops no weights; got {dropout}.")
        _refuse(embed_dim, options)
        self.embed_dim = whole_number("embed_dim", embed_dim, least=1, error=AttentionError)
        self.num_heads = whole_number("num_heads", num_heads, least=1, error=AttentionError)
        if embed_dim % num_heads:
            raise AttentionError(f"num_heads must divide embed_dim; got {num_heads} and {embed_dim}.")
        self.pattern, self.batch_first, self.layer = pattern, batch_first, layer
        like = nn.MultiheadAttention(embed_dim, num_heads, bias=bias, **options)
        self.in_proj_weight = like.in_proj_weight
        self.register_parameter("in_proj_bias", like.in_proj_bias)
        self.out_proj = like.out_proj

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = False,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, None]:
        """Mix the tokens; the arguments are those of `nn.MultiheadAttention`.

        Args:
            query: (tokens, batch, embed_dim), or (batch, tokens, embed_dim) if batch_first, or (tokens, embed_dim).
            key: as many tokens as query, or None for query itself.
            value: as many, or None for key.
            key_padding_mask: (batch, tokens), or (tokens,): **True = padding**, as PyTorch has it.
            need_weights: must be False, which is the default here: no matrix of weights is made.
            attn_mask: must be None; the pattern says which pairs there are.
            average_attn_weights: of no meaning without weights.
            is_causal: must be False; a causal pattern is Causal(pattern).

        Returns:
            Outputs of query's shape, and None in place of weights.
        """
        _refuse_call(need_weights, attn_mask, is_causal)
        key = query if key is None else key
        value = key if value is None else value
        _check_shapes(self.embed_dim, query, key, value)
        single = query.dim() == 2
        along = [x[None] if single else x if self.batch_first else x.transpose(0, 1) for x in (query, key, value)]
        weights = self.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (
            nn.functional.linear(x, weight, bias).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, weight, bias in zip(along, weights, biases, strict=True)
        )
        keep = _kept(key_padding_mask, single)
        mixed = self.out_proj(attend_widened(q, k, v, self.pattern, keep, layer=self.layer).transpose(1, 2).flatten(2))
        return (mixed[0] if single else mixed if self.batch_first else mixed.transpose(0, 1)), None

    def extra_repr(self) -> str:
        """What the sub-modules do not show."""
        return f"{self.embed_dim}, {self.num_heads}, {self.pattern!r}, batch_first={self.batch_first}"


def _refuse(embed_dim: int, options: dict[str, Any]) -> None:
    usual: dict[str, tuple[Any, ...]] = {
        "add_bias_kv": (False,),
        "add_zero_attn": (False,),
        "kdim": (None, embed_dim),
        "vdim": (None, embed_dim),
    }
    for name, given in options.items():
        if name not in (*usual, "device", "dtype"):
            raise AttentionError(f"options must be {', '.join(usual)}, device or dtype; got {name!r}.")
        if name in usual and given not in usual[name]:
            raise AttentionError(f"{name} must be left out: this is self-attention over a pattern; got {given!r}.")


def _refuse_call(need_weights: bool, attn_mask: Tensor | None, is_causal: bool) -> None:
    if need_weights:
        raise AttentionError("need_weights must be False: sparse attention makes no matrix of weights.")
    if attn_mask is not None:
        raise AttentionError("attn_mask must be None: the pattern says which pairs there are. Put them into a pattern.")
    if is_causal:
        raise AttentionError("is_causal must be False: build the layer with the pattern Causal(pattern) instead.")


def _check_shapes(embed_dim: int, query: Tensor, key: Tensor, value: Tensor) -> None:
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.dim() not in (2, 3) or x.shape[-1] != embed_dim:
            raise AttentionError(f"{name} must have 2 or 3 axes, the last of {embed_dim}; got {tuple(x.shape)}.")
        if x.shape != query.shape:
            raise AttentionError(
                f"query, key and value must have one shape: a pattern is of one sequence; query is"
                f" {tuple(query.shape)}, {name} is {tuple(x.shape)}. Use nn.MultiheadAttention between two sequences."
            )


def _kept(key_padding_mask: Tensor | None, single: bool) -> Tensor | None:
    """Which tokens are kept, 1 = keep: the opposite of PyTorch's mask."""
    if key_padding_mask is None:
        return None
    if key_padding_mask.dtype != torch.bool:
        raise AttentionError(
            f"key_padding_mask must be Boolean, True = padding; got {key_padding_mask.dtype}. From a tokenizer's"
            " attention_mask: attention_mask == 0."
        )
    return ~(key_padding_mask[None] if single else key_padding_mask)
