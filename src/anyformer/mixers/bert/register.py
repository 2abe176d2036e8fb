"""Making the classes known to AutoConfig, AutoModel, AutoTokenizer and the pipelines, and to `export_onnx`."""

import transformers

from anyformer.mixers.bert import language, roberta, tasks
from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.bert.graph import bert_graph
from anyformer.mixers.bert.model import MixerBertModel, MixerBertPreTrainedModel
from anyformer.mixers.onnx import onnx_graph

_AUTO = {
    transformers.AutoModel: (MixerBertModel, roberta.MixerRobertaModel),
    transformers.AutoModelForMaskedLM: (language.MixerBertForMaskedLM, roberta.MixerRobertaForMaskedLM),
    transformers.AutoModelForPreTraining: (language.MixerBertForPreTraining, roberta.MixerRobertaForMaskedLM),
    transformers.AutoModelForNextSentencePrediction: (tasks.MixerBertForNextSentencePrediction,),
    transformers.AutoModelForSequenceClassification: (
        tasks.MixerBertForSequenceClassification,
        roberta.MixerRobertaForSequenceClassification,
    ),
    transformers.AutoModelForTokenClassification: (
        tasks.MixerBertForTokenClassification,
        roberta.MixerRobertaForTokenClassification,
    ),
    transformers.AutoModelForQuestionAnswering: (
        tasks.MixerBertForQuestionAnswering,
        roberta.MixerRobertaForQuestionAnswering,
    ),
    transformers.AutoModelForMultipleChoice: (tasks.MixerBertForMultipleChoice, roberta.MixerRobertaForMultipleChoice),
}
_TOKENIZERS = {
    MixerBertConfig: transformers.BertTokenizerFast,
    roberta.MixerRobertaConfig: transformers.RobertaTokenizerFast,
}


def register() -> None:
    """Register everything; a second time changes nothing."""
    for config, tokenizer in _TOKENIZERS.items():
        transformers.AutoConfig.register(config.model_type, config, exist_ok=True)
        transformers.AutoTokenizer.register(
            config, slow_tokenizer_class=None, fast_tokenizer_class=tokenizer, exist_ok=True
        )
    for auto, models in _AUTO.items():
        for model in models:
            auto.register(model.config_class, model, exist_ok=True)
    onnx_graph.register(MixerBertPreTrainedModel, bert_graph)
