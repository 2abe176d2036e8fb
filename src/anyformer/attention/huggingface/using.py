"""`use_sparse_attention`: another attention in a model, chosen by a pattern; its weights stay as they are."""

import hashlib
import json
import uuid
from functools import cache, partial
from typing import TypeVar

from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel

from anyformer.attention.huggingface.layers import attend
from anyformer.attention.huggingface.masks import padding_mask
from anyformer.attention.huggingface.trial import layers_of
from anyformer.attention.plans import Pattern
from anyformer.errors import AttentionError, PatternError
from anyformer.patterns.exchange.json_form import to_json
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern

Model = TypeVar("Model", bound=PreTrainedModel)


def use_sparse_attention(model: Model, pattern: Pattern) -> Model:
    """Let every attention layer of a Hugging Face model see only what a pattern allows, from now on and in place.

    The model then computes what it computes densely under the pattern's mask: BERT, RoBERTa and other encoders as they
    are, Llama and other decoders within what is causal; padding is never seen. Layer l uses layer l of the pattern,
    head h its list h, both in a cycle. `model.set_attn_implementation("sdpa")` undoes it. What is saved is the model
    as it was: call this again after loading.

    Args:
        model: a text model of `transformers` whose attention goes through their `AttentionInterface`.
        pattern: a family, such as SlidingWindow(64), or a pattern of the one length that will be given.

    Returns:
        The model.

    Raises:
        AttentionError: for a model that would ignore the pattern, or whose attention is another one. What cannot be
            seen in advance is refused when it is met: weights to drop, a cache, sliding windows, soft caps, biases,
            masks that are not (batch, tokens), output_attentions.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> from anyformer.attention import use_sparse_attention
        >>> from anyformer.patterns import Longformer
        >>> bert = BertModel(BertConfig(hidden_size=48, num_hidden_layers=2, intermediate_size=96))
        >>> sparse = use_sparse_attention(bert.eval(), Longformer(half_width=64, global_tokens=1))
    """
    _check(model, pattern)
    called = layers_of(model)
    if not called:
        raise _ignores(model)
    if len(set(called)) < len(called) and _period(pattern) > 1:
        raise AttentionError(
            f"a pattern that changes from layer to layer must have layers of their own; those of {type(model).__name__}"
            " share one. Give a pattern that is the same in all layers."
        )
    for layer, module in enumerate(called):
        if getattr(module, "layer_idx", None) is None:
            module.layer_idx = layer
    model.set_attn_implementation(_registered(pattern))
    return model


def _check(model: object, pattern: object) -> None:
    if not isinstance(pattern, PatternFamily | SparsityPattern):
        raise AttentionError(
            f"pattern must be a family such as SlidingWindow(64), or a SparsityPattern; got {type(pattern).__name__}."
            " anyformer.patterns.named finds one by its name."
        )
    if not isinstance(model, PreTrainedModel):
        raise AttentionError(
            f"model must be a PreTrainedModel of transformers; got {type(model).__name__}."
            " In a module of your own, call anyformer.attention.sparse_attention or use SparseAttention."
        )
    if not model._supports_attention_backend or not model._can_set_attn_implementation():
        raise _ignores(model)
    config = model.config
    if config.is_encoder_decoder or getattr(config, "add_cross_attention", False) or config.sub_configs:
        raise AttentionError(
            f"the model must be one encoder or one decoder; {type(model).__name__} has several parts."
            " Give the part whose attention is to be sparse."
        )
    if model.main_input_name != "input_ids":
        raise AttentionError(
            f"the model must take input_ids; {type(model).__name__} takes {model.main_input_name}."
            " Call anyformer.attention.sparse_attention in a module of your own."
        )


def _ignores(model: PreTrainedModel) -> AttentionError:
    return AttentionError(
        f"the model's attention must go through transformers' AttentionInterface; that of {type(model).__name__} does"
        " not, and would ignore the pattern. Take a model whose attention is dense, such as BERT, RoBERTa or Llama;"
        " for a BERT of mixers, convert it with anyformer.mixers.PatternAttention."
    )


def _period(pattern: Pattern) -> int:
    """How many layers differ; some families have more of them at greater lengths, but then more than one at any."""
    return (pattern.at(64) if isinstance(pattern, PatternFamily) else pattern).period


@cache
def _registered(pattern: Pattern) -> str:
    """The name under which `transformers` finds the pattern's attention and mask."""
    name = f"anyformer_sparse_{_digest(pattern)}"
    AttentionInterface.register(name, partial(attend, pattern))
    AttentionMaskInterface.register(name, padding_mask)
    return name


def _digest(pattern: Pattern) -> str:
    """Of the contents: a model that was pickled elsewhere must not find another pattern under the same name."""
    try:
        described = json.dumps(to_json(pattern))
    except PatternError:  # somebody's own family
        described = uuid.uuid4().hex
    return hashlib.sha256(described.encode()).hexdigest()[:16]
