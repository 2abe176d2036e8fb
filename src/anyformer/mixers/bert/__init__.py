"""BERT with any mixers, in the form of Hugging Face; importing it makes it known to their Auto classes and to ONNX."""

from anyformer.extras import require

require("transformers", extra="bert", what="BERT")

from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.bert.convert import convert
from anyformer.mixers.bert.language import MixerBertForMaskedLM, MixerBertForPreTraining
from anyformer.mixers.bert.model import MixerBertModel
from anyformer.mixers.bert.register import register
from anyformer.mixers.bert.tasks import MixerBertForQuestionAnswering, MixerBertForSequenceClassification

__all__ = [
    "MixerBertConfig",
    "MixerBertForMaskedLM",
    "MixerBertForPreTraining",
    "MixerBertForQuestionAnswering",
    "MixerBertForSequenceClassification",
    "MixerBertModel",
    "convert",
    "register",
]

# The one thing done at import: whoever imports these classes may then load their folders by AutoModel, and export them.
register()
