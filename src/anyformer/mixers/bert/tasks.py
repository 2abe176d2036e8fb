"""Heads for fine-tuning; only the encoder differs from BERT's, so what they compute is taken from there."""

from torch import nn
from transformers.models.bert.modeling_bert import (
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertOnlyNSPHead,
)

from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.bert.model import MixerBertModel, MixerBertPreTrainedModel


class MixerBertForSequenceClassification(MixerBertPreTrainedModel):
    """A class, or a number, for each sequence."""

    def __init__(self, config: MixerBertConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.bert = MixerBertModel(config)
        self.dropout = nn.Dropout(dropout_of_classifier(config))
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    forward = BertForSequenceClassification.forward


class MixerBertForTokenClassification(MixerBertPreTrainedModel):
    """A class for each token, such as the kind of name that it belongs to."""

    def __init__(self, config: MixerBertConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.bert = MixerBertModel(config, add_pooling_layer=False)
        self.dropout = nn.Dropout(dropout_of_classifier(config))
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    forward = BertForTokenClassification.forward


class MixerBertForQuestionAnswering(MixerBertPreTrainedModel):
    """Where an answer starts and ends."""

    def __init__(self, config: MixerBertConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.bert = MixerBertModel(config, add_pooling_layer=False)
        self.qa_outputs = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    forward = BertForQuestionAnswering.forward


class MixerBertForMultipleChoice(MixerBertPreTrainedModel):
    """Which of several texts fits: input_ids are (batch, choices, tokens), and each text gets one score."""

    def __init__(self, config: MixerBertConfig) -> None:
        super().__init__(config)
        self.bert = MixerBertModel(config)
        self.dropout = nn.Dropout(dropout_of_classifier(config))
        self.classifier = nn.Linear(config.hidden_size, 1)
        self.post_init()

    forward = BertForMultipleChoice.forward


class MixerBertForNextSentencePrediction(MixerBertPreTrainedModel):
    """Whether the second sentence follows the first (0) or not (1)."""

    def __init__(self, config: MixerBertConfig) -> None:
        super().__init__(config)
        self.bert = MixerBertModel(config)
        self.cls = BertOnlyNSPHead(config)
        self.post_init()

    forward = BertForNextSentencePrediction.forward


def dropout_of_classifier(config: MixerBertConfig) -> float:
    """The share that is dropped before a classifier."""
    share: float = config.hidden_dropout_prob if config.classifier_dropout is None else config.classifier_dropout
    return share
