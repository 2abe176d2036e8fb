"""BERT with any mixers, in the form of Hugging Face; importing it makes it known to their Auto classes and to ONNX."""

from anyformer.extras import require

require("transformers", extra="bert", what="BERT")

from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.bert.convert import convert
from anyformer.mixers.bert.language import MixerBertForMaskedLM, MixerBertForPreTraining
from anyformer.mixers.bert.model import MixerBertModel
from anyformer.mixers.bert.register import register
from anyformer.mixers.bert.roberta import (
    MixerRobertaConfig,
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

__all__ = [
    "MixerBertConfig",
    "MixerBertForMaskedLM",
    "MixerBertForMultipleChoice",
    "MixerBertForNextSentencePrediction",
    "MixerBertForPreTraining",
    "MixerBertForQuestionAnswering",
    "MixerBertForSequenceClassification",
    "MixerBertForTokenClassification",
    "MixerBertModel",
    "MixerRobertaConfig",
    "MixerRobertaForMaskedLM",
    "MixerRobertaForMultipleChoice",
    "MixerRobertaForQuestionAnswering",
    "MixerRobertaForSequenceClassification",
    "MixerRobertaForTokenClassification",
    "MixerRobertaModel",
    "convert",
    "register",
]

# The only thing done at import: afterwards AutoModel can load folders of these classes, and they can be exported.
register()
