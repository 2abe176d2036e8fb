"""Another mixer in a trained BERT: every other weight is kept."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from transformers import models

from anyformer.errors import MixerError
from anyformer.mixers.bert.causal import MixerBertForCausalLM
from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.bert.language import MixerBertForMaskedLM, MixerBertForPreTraining
from anyformer.mixers.bert.model import MixerBertModel, MixerBertPreTrainedModel
from anyformer.mixers.bert.roberta import (
    MixerRobertaForMaskedLM,
    MixerRobertaForMultipleChoice,
    MixerRobertaForQuestionAnswering,
    MixerRobertaForSequenceClassification,
    MixerRobertaForTokenClassification,
    MixerRobertaModel,
)
from anyformer.mixers.bert.tasks import (
    MixerBertForMultipleChoice,
    MixerBertForNextSentencePrediction,
    MixerBertForQuestionAnswering,
    MixerBertForSequenceClassification,
    MixerBertForTokenClassification,
)
from anyformer.mixers.mixer import Mixer

OURS: dict[type[torch.nn.Module], type[MixerBertPreTrainedModel]] = {
    models.bert.BertModel: MixerBertModel,
    models.bert.BertLMHeadModel: MixerBertForCausalLM,
    models.bert.BertForMaskedLM: MixerBertForMaskedLM,
    models.bert.BertForPreTraining: MixerBertForPreTraining,
    models.bert.BertForSequenceClassification: MixerBertForSequenceClassification,
    models.bert.BertForQuestionAnswering: MixerBertForQuestionAnswering,
    models.bert.BertForTokenClassification: MixerBertForTokenClassification,
    models.bert.BertForMultipleChoice: MixerBertForMultipleChoice,
    models.bert.BertForNextSentencePrediction: MixerBertForNextSentencePrediction,
    models.roberta.RobertaModel: MixerRobertaModel,
    models.roberta.RobertaForMaskedLM: MixerRobertaForMaskedLM,
    models.roberta.RobertaForSequenceClassification: MixerRobertaForSequenceClassification,
    models.roberta.RobertaForQuestionAnswering: MixerRobertaForQuestionAnswering,
    models.roberta.RobertaForTokenClassification: MixerRobertaForTokenClassification,
    models.roberta.RobertaForMultipleChoice: MixerRobertaForMultipleChoice,
}
"""Which class of ours stands for which of `transformers`."""


def convert(bert: torch.nn.Module, mixers: Sequence[Mixer] | Mixer) -> MixerBertPreTrainedModel:
    """A BERT or RoBERTa with these mixers and, for the rest, the weights of the given one, which is left as it is.

    Layers whose mixer stays the same keep its weights as well, also where attention becomes sparse or dense with as
    many heads as before; other mixers get fresh parameters.

    Args:
        bert: one of `transformers` of a kind in OURS, such as a BertModel or a RobertaForMaskedLM, or one of their
            counterparts here. Of a decoder the mixers become causal.
        mixers: one for each layer, or one for all of them.

    Returns:
        The counterpart, in the same mode, of the same dtype, on the same device.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> from anyformer.mixers import Average
        >>> stock = BertModel(BertConfig(hidden_size=48, num_hidden_layers=2, intermediate_size=96))
        >>> convert(stock, [Average()] * 2).encoder.layer[1].attention.self
        AverageAttention()
    """
    ours = OURS.get(type(bert), type(bert))
    if ours not in OURS.values():
        raise MixerError(
            f"what is converted must be one of {', '.join(kind.__name__ for kind in OURS)}, or ours; got"
            f" {type(bert).__name__}."
        )
    kind: type[MixerBertConfig] = ours.config_class
    before = kind.from_dict({**bert.config.to_dict(), "model_type": kind.model_type})
    config = kind.from_dict({**before.to_dict(), "mixers": _one_a_layer(mixers, before.num_hidden_layers)})
    options = {} if getattr(bert.base_model, "pooler", None) else {"add_pooling_layer": False}
    converted = ours(config, **options) if issubclass(ours, MixerBertModel) else ours(config)
    changed = [
        layer
        for layer, (old, new) in enumerate(zip(before.layer_mixers, config.layer_mixers, strict=True))
        if old.same_weights_as() != new.same_weights_as()
    ]
    # First the type: weights that pass through another one are rounded.
    converted.to(dtype=bert.dtype, device=bert.device).train(bert.training)
    _copy(bert, converted, changed)
    return converted


def _one_a_layer(mixers: object, layers: int) -> list[Any]:
    if isinstance(mixers, Mixer):
        return [mixers] * layers
    if not isinstance(mixers, Iterable) or isinstance(mixers, str | Mapping):
        raise MixerError(
            f"mixers must be one for each of the {layers} layers, or one for all of them; got {mixers!r:.200}. Write"
            " [Average(), Attention()], for example, or hybrid(…)."
        )
    return list(mixers)


def _copy(bert: torch.nn.Module, converted: torch.nn.Module, changed: list[int]) -> None:
    """Copy all but the changed mixers, and see that nothing else was left out."""
    prefix = "" if bert.base_model is bert else f"{bert.base_model_prefix}."
    new = tuple(f"{prefix}encoder.layer.{layer}.attention.self." for layer in changed)
    kept = {name: value for name, value in bert.state_dict().items() if not name.startswith(new)}
    missing, unexpected = converted.load_state_dict(kept, strict=False)
    left_out = [name for name in missing if not name.startswith(new)] + unexpected
    if left_out:
        raise MixerError(f"every weight outside the changed mixers must be kept; these do not fit: {left_out}.")
