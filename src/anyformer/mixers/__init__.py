"""Token mixers, and the BERT that takes any of them. Needs PyTorch; the BERT needs `transformers` too.

>>> import anyformer.mixers as mixers
>>> mixers.hybrid(4, convolutions=1)[:2]
(Convolution(kernel=128, filters=16), Attention(heads=12))
"""

import importlib
from typing import TYPE_CHECKING, Any

from anyformer.errors import MixerError
from anyformer.extras import require, when_imported

require("torch", extra="bert", what="mixers")

from anyformer.mixers.attention import Attention, SelfAttention
from anyformer.mixers.average import Average, AverageAttention
from anyformer.mixers.battery import Promise, check_mixer
from anyformer.mixers.bilinear import Bilinear, BilinearProjection
from anyformer.mixers.catalogue import CATALOGUE, from_json, hybrid, register_mixer, to_json
from anyformer.mixers.convolution import Convolution, DepthwiseConvolution, PlainConvolution, SeparableConvolution
from anyformer.mixers.drawing import draw_movement
from anyformer.mixers.fourier import Fourier, FourierTransform
from anyformer.mixers.lora import LORA_TARGETS, name_lora_targets
from anyformer.mixers.mixer import Mixer, TokenMixer
from anyformer.mixers.movement import Movement, measure_movement
from anyformer.mixers.onnx import export_onnx
from anyformer.mixers.sparse_attention import PatternAttention, SparseSelfAttention

if TYPE_CHECKING:
    from anyformer.mixers.bert import (
        MixerBertConfig,
        MixerBertForMaskedLM,
        MixerBertForMultipleChoice,
        MixerBertForNextSentencePrediction,
        MixerBertForPreTraining,
        MixerBertForQuestionAnswering,
        MixerBertForSequenceClassification,
        MixerBertForTokenClassification,
        MixerBertModel,
        MixerRobertaConfig,
        MixerRobertaForMaskedLM,
        MixerRobertaForMultipleChoice,
        MixerRobertaForQuestionAnswering,
        MixerRobertaForSequenceClassification,
        MixerRobertaForTokenClassification,
        MixerRobertaModel,
        convert,
    )

__all__ = [
    "CATALOGUE",
    "LORA_TARGETS",
    "Attention",
    "Average",
    "AverageAttention",
    "Bilinear",
    "BilinearProjection",
    "Convolution",
    "DepthwiseConvolution",
    "Fourier",
    "FourierTransform",
    "Mixer",
    "MixerBertConfig",
    "MixerBertForMaskedLM",
    "MixerBertForMultipleChoice",
    "MixerBertForNextSentencePrediction",
    "MixerBertForPreTraining",
    "MixerBertForQuestionAnswering",
    "MixerBertForSequenceClassification",
    "MixerBertForTokenClassification",
    "MixerBertModel",
    "MixerError",
    "MixerRobertaConfig",
    "MixerRobertaForMaskedLM",
    "MixerRobertaForMultipleChoice",
    "MixerRobertaForQuestionAnswering",
    "MixerRobertaForSequenceClassification",
    "MixerRobertaForTokenClassification",
    "MixerRobertaModel",
    "Movement",
    "PatternAttention",
    "PlainConvolution",
    "Promise",
    "SelfAttention",
    "SeparableConvolution",
    "SparseSelfAttention",
    "TokenMixer",
    "check_mixer",
    "convert",
    "draw_movement",
    "export_onnx",
    "from_json",
    "hybrid",
    "measure_movement",
    "register_mixer",
    "to_json",
]


def __getattr__(name: str) -> Any:
    """The BERT, when it is asked for: `transformers` takes seconds to import."""
    if name in __all__:
        return getattr(importlib.import_module("anyformer.mixers.bert"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _register() -> None:
    """Import the BERT, which makes itself known to the Auto classes."""
    importlib.import_module("anyformer.mixers.bert")


# The only thing done at import: whoever loads a saved model imports `transformers` too, before or after this package.
when_imported("transformers", _register)
when_imported("peft.utils.constants", name_lora_targets)
