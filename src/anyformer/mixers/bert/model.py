"""BERT's encoder with a mixer in place of each self-attention; other parts and all names are as in `transformers`."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import initialization
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.models.bert.modeling_bert import (
    BertEmbeddings,
    BertIntermediate,
    BertOutput,
    BertPooler,
    BertPreTrainedModel,
    BertSelfOutput,
)
from transformers.utils.generic import can_return_tuple

from anyformer.errors import MixerError
from anyformer.mixers.adopted import draw_parameters
from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.mixer import Mixer, is_traced


class MixerBertAttention(nn.Module):
    """A mixer as `self`, then W_O, dropout, residual and norm as `output`: the names in every BERT checkpoint."""

    def __init__(self, config: MixerBertConfig, mixer: Mixer, layer: int) -> None:
        super().__init__()
        self.norm = config.norm
        self.self = mixer.build_layer(layer, config.hidden_size, config.attention_probs_dropout_prob)
        self.output = BertSelfOutput(config)

    def forward(self, hidden: Tensor, attention_mask: Tensor | None) -> Tensor:
        """(batch, tokens, width) → the same."""
        projected = self.self.projected(self._read(hidden), attention_mask, self.output.dense)
        summed: Tensor = self.output.dropout(projected) + hidden
        return self.output.LayerNorm(summed) if self.norm == "after" else summed

    def weights(self, hidden: Tensor, attention_mask: Tensor | None) -> Tensor | None:
        """The mixer's weights for what goes into the layer, if it has any."""
        return self.self.weights(self._read(hidden), attention_mask)

    def _read(self, hidden: Tensor) -> Tensor:
        """What the mixer gets."""
        return hidden if self.norm == "after" else self.output.LayerNorm(hidden)


class MixerBertLayer(GradientCheckpointingLayer):
    """Mixer, then feed-forward."""

    def __init__(self, config: MixerBertConfig, mixer: Mixer, layer: int) -> None:
        super().__init__()
        self.norm = config.norm
        self.attention = MixerBertAttention(config, mixer, layer)
        self.intermediate = BertIntermediate(config)
        self.output = BertOutput(config)

    def forward(self, hidden: Tensor, attention_mask: Tensor | None) -> Tensor:
        """(batch, tokens, width) → the same."""
        mixed: Tensor = self.attention(hidden, attention_mask)
        if self.norm == "after":
            layer: Tensor = self.output(self.intermediate(mixed), mixed)
            return layer
        fed = self.output.dense(self.intermediate(self.output.LayerNorm(mixed)))
        return mixed + self.output.dropout(fed)


class MixerBertEncoder(nn.Module):
    """The layers, and a norm after the last one if the layers do not normalise their outputs."""

    def __init__(self, config: MixerBertConfig) -> None:
        super().__init__()
        self.layer = nn.ModuleList(
            MixerBertLayer(config, mixer, layer) for layer, mixer in enumerate(config.layer_mixers)
        )
        if config.norm == "before":
            self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, hidden: Tensor, attention_mask: Tensor | None) -> list[Tensor]:
        """What goes into the first layer, and what comes out of each."""
        states = [hidden]
        for layer in self.layer:
            states.append(layer(states[-1], attention_mask))
        return states if not hasattr(self, "LayerNorm") else [*states[:-1], self.LayerNorm(states[-1])]


class MixerBertPreTrainedModel(BertPreTrainedModel):
    """What all BERTs of mixers share: their configuration and how their weights are drawn."""

    config: MixerBertConfig
    config_class = MixerBertConfig
    # Trainer: losses are means over a batch, to be averaged over accumulated batches.
    accepts_loss_kwargs = False
    _supports_flash_attn = False
    _supports_flex_attn = False
    _supports_attention_backend = False
    _no_split_modules = ("BertEmbeddings", "MixerBertLayer")
    _can_record_outputs: ClassVar[dict[str, Any]] = {}

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        draw_parameters(module, initialization.normal_)


class MixerBertModel(MixerBertPreTrainedModel):
    """The encoder: embeddings, layers, and the pooler that reads the first token.

    >>> from anyformer.mixers import Average, MixerBertConfig
    >>> small = MixerBertConfig(hidden_size=48, num_hidden_layers=2, intermediate_size=96, mixers=[Average()] * 2)
    >>> MixerBertModel(small).encoder.layer[0].attention.self
    AverageAttention()
    """

    embeddings_class: ClassVar[type[nn.Module]] = BertEmbeddings

    def __init__(self, config: MixerBertConfig, add_pooling_layer: bool = True) -> None:
        super().__init__(config)
        self.embeddings = self.embeddings_class(config)
        self.encoder = MixerBertEncoder(config)
        self.pooler = BertPooler(config) if add_pooling_layer else None
        self._longest: int | None = None
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        """The word embeddings."""
        embeddings: nn.Embedding = self.embeddings.word_embeddings
        return embeddings

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Exchange the word embeddings."""
        self.embeddings.word_embeddings = value

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> BaseModelOutputWithPooling:
        """As BertModel's; `attention_mask` is (batch, tokens), 1 = keep. Attentions of layers without any are None."""
        if (input_ids is None) == (inputs_embeds is None):
            raise MixerError("exactly one of input_ids and inputs_embeds must be given; got both or neither.")
        if position_ids is None and not is_traced():
            self._require_length(input_ids, inputs_embeds)
        embedded = self.embeddings(input_ids, token_type_ids, position_ids, inputs_embeds)
        mask = _needed(attention_mask)
        states = self.encoder(embedded, mask)
        wants_states = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        wants_weights = self.config.output_attentions if output_attentions is None else output_attentions
        return BaseModelOutputWithPooling(
            last_hidden_state=states[-1],
            pooler_output=None if self.pooler is None else self.pooler(states[-1]),
            hidden_states=tuple(states) if wants_states else None,
            attentions=self._weights(states, mask) if wants_weights else None,
        )

    def _require_length(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> None:
        """Refuse what has no tokens, or more than there are positions; to know the longest input takes a while."""
        tokens = self._tokens(input_ids, inputs_embeds)
        if self._longest is None or tokens > self._longest:
            self._longest = self.config.longest_input
        if not 0 < tokens <= self._longest:
            raise MixerError(
                f"a text must have from 1 to {self._longest} tokens, padding included; got {tokens}. Cut longer ones"
                " (truncation=True in the tokenizer), or give them in parts."
            )

    def _tokens(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> int:
        """How many tokens each sequence has."""
        given = inputs_embeds if input_ids is None else input_ids
        assert given is not None
        return given.shape[1]

    def _weights(self, states: list[Tensor], attention_mask: Tensor | None) -> tuple[Tensor | None, ...]:
        pairs = zip(self.encoder.layer, states[:-1], strict=True)
        return tuple(layer.attention.weights(state, attention_mask) for layer, state in pairs)


def _needed(attention_mask: Tensor | None) -> Tensor | None:
    """No mask where all is kept, which is faster."""
    if attention_mask is None or is_traced() or not attention_mask.all():
        return attention_mask
    return None
