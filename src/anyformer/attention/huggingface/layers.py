"""The function that layers of a model call in place of their own attention."""

from functools import lru_cache
from typing import Any, Final

from torch import Tensor, nn

from anyformer.attention.huggingface.masks import read, too_few_queries
from anyformer.attention.plans import Pattern
from anyformer.attention.widening import attend_widened
from anyformer.errors import AttentionError
from anyformer.patterns.families.combinators import Causal, causal
from anyformer.patterns.pattern import SparsityPattern

HARMLESS: Final = frozenset(
    {"position_ids", "cache_position", "use_cache", "num_items_in_batch", "output_hidden_states", "return_dict"}
)
"""Named arguments of layers that change nothing about their attention; any other must be unset."""


def attend(
    pattern: Pattern,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Sparse attention as `transformers` calls it: (batch, heads, tokens, size) → (batch, tokens, heads, size)."""
    _refuse_dropout(dropout)
    refuse_others(others)
    if query.shape[2] != key.shape[2]:
        raise too_few_queries(query.shape[2], key.shape[2])
    keep, later_are_hidden = read(module, attention_mask, is_causal)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
    pattern = _earlier(pattern) if later_are_hidden else pattern
    mixed = attend_widened(query, key, value, pattern, keep, scaling, layer=module.layer_idx)
    return mixed.transpose(1, 2).contiguous(), None


def _refuse_dropout(dropout: float) -> None:
    if dropout:
        raise AttentionError(
            f"sparse attention drops no weights; this model wants to drop {dropout:g} of them in training. Load it with"
            " attention_probs_dropout_prob=0 (BERT's) or attention_dropout=0 (Llama's) in its config."
        )


def refuse_others(others: dict[str, Any]) -> None:
    """Raise AttentionError for what a layer says of its attention beyond scaling, dropout and causality."""
    if others.get("output_attentions"):
        raise AttentionError(
            "output_attentions must be off: sparse attention makes no matrix of weights. Ask for them after"
            ' model.set_attn_implementation("eager").'
        )
    for name, given in others.items():
        if name not in HARMLESS and given is not None and given is not False:
            raise AttentionError(
                f"attention must be softmax of scaled products alone; this model's layers give {name!r} too, which"
                " sparse attention would ignore. Turn it off in the config, or take another model."
            )


@lru_cache(maxsize=64)
def _earlier(pattern: Pattern) -> Pattern:
    """The pattern without later tokens."""
    return causal(pattern) if isinstance(pattern, SparsityPattern) else Causal(pattern)
