"""Heads for fine-tuning; only the encoder differs from BERT's, so what they compute is taken from there."""

from torch import nn
from transformers.models.bert.modeling_bert import BertForQuestionAnswering, BertForSequenceClassification

from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.bert.model import MixerBertModel, MixerBertPreTrainedModel


class MixerBertForSequenceClassification(MixerBertPreTrainedModel):
    """A class, or a number, for each sequence."""

    def __init__(self, config: MixerBertConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.bert = MixerBertModel(config)
        dropout = config.hidden_dropout_prob if config.classifier_dropout is None else config.classifier_dropout
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    forward = BertForSequenceClassification.forward


class MixerBertForQuestionAnswering(MixerBertPreTrainedModel):
    """Where an answer starts and ends."""

    def __init__(self, config: MixerBertConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.bert = MixerBertModel(config, add_pooling_layer=False)
        self.qa_outputs = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    forward = BertForQuestionAnswering.forward
