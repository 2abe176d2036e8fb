"""Heads that predict masked words; in training, scores are computed only where there is a word to predict."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers.modeling_outputs import MaskedLMOutput
from transformers.models.bert.modeling_bert import BertForPreTrainingOutput, BertOnlyMLMHead, BertPreTrainingHeads
from transformers.utils.generic import can_return_tuple

from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.bert.model import MixerBertModel, MixerBertPreTrainedModel

IGNORED = -100
"""The label of a token that is not to be predicted, as everywhere in `transformers`."""


class WordPredicting(MixerBertPreTrainedModel):
    """Word scores with the embeddings as output weights."""

    _tied_weights_keys: ClassVar[dict[str, str]] = {
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    }

    @property
    def word_scores(self) -> nn.Module:
        """From the states of tokens to a score for each word."""
        head: nn.Module = self.cls.predictions
        return head

    def get_output_embeddings(self) -> nn.Linear:
        """The last layer of the word scores."""
        decoder: nn.Linear = self.word_scores.decoder
        return decoder

    def set_output_embeddings(self, new_embeddings: nn.Linear) -> None:
        """Exchange it, as when the vocabulary grows."""
        self.word_scores.decoder = new_embeddings
        self.word_scores.bias = new_embeddings.bias

    def _score(self, states: Tensor, labels: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """(scores, mean loss): in training with labels, scores of the labelled tokens; otherwise of all."""
        if labels is None:
            return self.word_scores(states), None
        chosen = labels != IGNORED
        # Trainer lines up what it evaluates by sequence, so then all tokens have scores.
        scores = self.word_scores(states[chosen] if self.training else states)
        wanted = scores if self.training else scores[chosen]
        # A batch without a word to predict has the loss 0, not 0/0.
        return scores, cross_entropy(wanted, labels[chosen], reduction="sum") / chosen.sum().clamp(min=1)


class MixerBertForMaskedLM(WordPredicting):
    """Masked words.

    `logits` are (batch, tokens, vocabulary) as ever, but in training with labels (labelled tokens, vocabulary), in the
    order of `labels[labels != -100]`: scoring the six of seven tokens without a label would take most of the time.
    """

    def __init__(self, config: MixerBertConfig) -> None:
        super().__init__(config)
        self.bert = MixerBertModel(config, add_pooling_layer=False)
        self.cls = BertOnlyMLMHead(config)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        **asked: Any,
    ) -> MaskedLMOutput:
        """Like BertForMaskedLM's, except for the logits in training; `asked` has options like output_hidden_states."""
        outputs = self.base_model(
            input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds, return_dict=True, **asked
        )
        logits, loss = self._score(outputs.last_hidden_state, labels)
        return MaskedLMOutput(loss, logits, outputs.hidden_states, outputs.attentions)


class MixerBertForPreTraining(WordPredicting):
    """Masked words, and whether the second sentence follows the first.

    `prediction_logits` are as the logits of MixerBertForMaskedLM.
    """

    def __init__(self, config: MixerBertConfig) -> None:
        super().__init__(config)
        self.bert = MixerBertModel(config)
        self.cls = BertPreTrainingHeads(config)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        next_sentence_label: Tensor | None = None,
        **asked: Any,
    ) -> BertForPreTrainingOutput:
        """As BertForPreTraining's; the loss is the sum of those whose labels are given."""
        outputs = self.bert(
            input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds, return_dict=True, **asked
        )
        words, words_loss = self._score(outputs.last_hidden_state, labels)
        follows = self.cls.seq_relationship(outputs.pooler_output)
        losses = [] if words_loss is None else [words_loss]
        if next_sentence_label is not None:
            losses.append(cross_entropy(follows, next_sentence_label.flatten()))
        loss = torch.stack(losses).sum() if losses else None
        return BertForPreTrainingOutput(loss, words, follows, outputs.hidden_states, outputs.attentions)
