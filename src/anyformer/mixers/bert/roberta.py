"""RoBERTa with a mixer in place of each self-attention.

It differs from BERT in three places: the positions of tokens are counted from the ids, without padding and from
`pad_token_id + 1`; words are scored by `lm_head`; a sequence is classified without the pooler. These parts are those of
`transformers`, and all names are as in every RoBERTa checkpoint.
"""

from typing import Any, ClassVar

from torch import Tensor, nn
from transformers.models.roberta.modeling_roberta import (
    RobertaClassificationHead,
    RobertaEmbeddings,
    RobertaForMultipleChoice,
    RobertaForQuestionAnswering,
    RobertaForSequenceClassification,
    RobertaForTokenClassification,
    RobertaLMHead,
    RobertaPreTrainedModel,
)

from anyformer.errors import MixerError
from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.bert.language import MixerBertForMaskedLM, WordPredicting
from anyformer.mixers.bert.model import MixerBertModel, MixerBertPreTrainedModel
from anyformer.mixers.bert.tasks import dropout_of_classifier
from anyformer.mixers.mixer import longest_sequence


class MixerRobertaConfig(MixerBertConfig):
    """RoBERTa's configuration, `mixers` and `norm`, which are those of MixerBertConfig.

    >>> from anyformer.mixers import hybrid
    >>> MixerRobertaConfig(mixers=hybrid(12, 2)).pad_token_id
    1
    """

    model_type = "mixer-roberta"

    vocab_size: int = 50265
    pad_token_id: int | None = 1
    bos_token_id: int | None = 0
    eos_token_id: int | list[int] | None = 2

    @property
    def longest_input(self) -> int:
        """How many tokens a model takes at most: positions are counted from the one after the padding."""
        assert self.pad_token_id is not None
        return longest_sequence(self.max_position_embeddings - self.pad_token_id - 1, self.layer_mixers)

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        if self.is_decoder:
            raise MixerError(
                "a RoBERTa of mixers must be an encoder, since only BERT has a language model here; got is_decoder."
                " Leave it out, or take a MixerBertConfig."
            )


class MixerRobertaPreTrainedModel(MixerBertPreTrainedModel, RobertaPreTrainedModel):
    """What all RoBERTas of mixers share; parts of RoBERTa are drawn as RoBERTa draws them."""

    config: MixerRobertaConfig
    config_class = MixerRobertaConfig
    base_model_prefix = "roberta"
    _no_split_modules = ("RobertaEmbeddings", "MixerBertLayer")


class MixerRobertaModel(MixerRobertaPreTrainedModel, MixerBertModel):
    """The encoder: RoBERTa's embeddings, then the layers and the pooler of MixerBertModel."""

    embeddings_class: ClassVar[type[nn.Module]] = RobertaEmbeddings

    def _tokens(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> int:
        """How many tokens the longest sequence has; padding among the ids takes no position."""
        tokens = super()._tokens(input_ids, inputs_embeds)
        if input_ids is None or tokens <= (self._longest or 0):
            return tokens
        return max(1, int((input_ids != self.config.pad_token_id).sum(dim=1).max())) if tokens else 0


class MixerRobertaForMaskedLM(MixerRobertaPreTrainedModel, WordPredicting):
    """Masked words; `logits` are as those of MixerBertForMaskedLM."""

    _tied_weights_keys: ClassVar[dict[str, str]] = {
        "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    }

    def __init__(self, config: MixerRobertaConfig) -> None:
        super().__init__(config)
        self.roberta = MixerRobertaModel(config, add_pooling_layer=False)
        self.lm_head = RobertaLMHead(config)
        self.post_init()

    @property
    def word_scores(self) -> Any:
        """From the states of tokens to a score for each word."""
        return self.lm_head

    forward = MixerBertForMaskedLM.forward


class MixerRobertaForSequenceClassification(MixerRobertaPreTrainedModel):
    """A class, or a number, for each sequence."""

    def __init__(self, config: MixerRobertaConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.roberta = MixerRobertaModel(config, add_pooling_layer=False)
        self.classifier = RobertaClassificationHead(config)
        self.post_init()

    forward = RobertaForSequenceClassification.forward


class MixerRobertaForTokenClassification(MixerRobertaPreTrainedModel):
    """A class for each token."""

    def __init__(self, config: MixerRobertaConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.roberta = MixerRobertaModel(config, add_pooling_layer=False)
        self.dropout = nn.Dropout(dropout_of_classifier(config))
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    forward = RobertaForTokenClassification.forward


class MixerRobertaForQuestionAnswering(MixerRobertaPreTrainedModel):
    """Where an answer starts and ends."""

    def __init__(self, config: MixerRobertaConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.roberta = MixerRobertaModel(config, add_pooling_layer=False)
        self.qa_outputs = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    forward = RobertaForQuestionAnswering.forward


class MixerRobertaForMultipleChoice(MixerRobertaPreTrainedModel):
    """Which of several texts fits: input_ids are (batch, choices, tokens), and each text gets one score."""

    def __init__(self, config: MixerRobertaConfig) -> None:
        super().__init__(config)
        self.roberta = MixerRobertaModel(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, 1)
        self.post_init()

    forward = RobertaForMultipleChoice.forward
