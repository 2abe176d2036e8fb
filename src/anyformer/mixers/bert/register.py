"""Making the classes known to AutoConfig, AutoModel, AutoTokenizer and the pipelines, and to `export_onnx`."""

import transformers

from anyformer.mixers.bert.causal import MixerBertForCausalLM
from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.bert.graph import bert_graph
from anyformer.mixers.bert.language import MixerBertForMaskedLM, MixerBertForPreTraining
from anyformer.mixers.bert.model import MixerBertModel, MixerBertPreTrainedModel
from anyformer.mixers.bert.tasks import MixerBertForQuestionAnswering, MixerBertForSequenceClassification
from anyformer.mixers.onnx import onnx_graph

_AUTO = {
    transformers.AutoModel: MixerBertModel,
    transformers.AutoModelForCausalLM: MixerBertForCausalLM,
    transformers.AutoModelForMaskedLM: MixerBertForMaskedLM,
    transformers.AutoModelForPreTraining: MixerBertForPreTraining,
    transformers.AutoModelForSequenceClassification: MixerBertForSequenceClassification,
    transformers.AutoModelForQuestionAnswering: MixerBertForQuestionAnswering,
}


def register() -> None:
    """Register everything; a second time changes nothing."""
    transformers.AutoConfig.register(MixerBertConfig.model_type, MixerBertConfig, exist_ok=True)
    for auto, model in _AUTO.items():
        auto.register(MixerBertConfig, model, exist_ok=True)
    transformers.AutoTokenizer.register(
        MixerBertConfig, slow_tokenizer_class=None, fast_tokenizer_class=transformers.BertTokenizerFast, exist_ok=True
    )
    onnx_graph.register(MixerBertPreTrainedModel, bert_graph)
