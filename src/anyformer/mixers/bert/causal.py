"""The head of a language model: the next word, from the words so far."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import GenerationMixin
from transformers.modeling_outputs import CausalLMOutput
from transformers.models.bert.modeling_bert import BertOnlyMLMHead
from transformers.utils.generic import can_return_tuple

from anyformer.errors import MixerError
from anyformer.mixers.bert.config import MixerBertConfig
from anyformer.mixers.bert.language import IGNORED, WordPredicting
from anyformer.mixers.bert.model import MixerBertModel
from anyformer.mixers.mixer import is_traced


class MixerBertForCausalLM(WordPredicting, GenerationMixin):
    """The next word after each word; its config must have `is_decoder`, so that no word sees a later one.

    `labels` are the words themselves: the scores at a word are compared with the label of the one after it. In training
    with labels, `logits` are (labelled tokens, vocabulary) as those of MixerBertForMaskedLM, otherwise of all tokens.

    Words may be padded on either side. Padding before a text is moved behind it and back, so that all mixers, sparsity
    patterns and positions count from where the text starts.
    """

    def __init__(self, config: MixerBertConfig) -> None:
        if not config.is_decoder:
            raise MixerError(
                "a language model must not see later words; got a config without is_decoder. Write is_decoder=True, in"
                " MixerBertConfig or in from_pretrained."
            )
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
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **asked: Any,
    ) -> CausalLMOutput:
        """Like BertLMHeadModel's, without a cache.

        `logits_to_keep` last tokens get scores, or those whose places it lists; all if it is 0, or with labels.
        """
        _require_no_cache(use_cache)
        self._require_positions(input_ids if inputs_embeds is None else inputs_embeds)
        leading = _leading(attention_mask)
        given = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        turned = (None if one is None else _turned(one, leading) for one in given)
        outputs = self.bert(*turned, return_dict=True, **asked)
        back = None if leading is None else -leading
        states = _turned(outputs.last_hidden_state, back)
        wanted = None if labels is None else pad(labels[:, 1:], (0, 1), value=IGNORED)
        if wanted is not None and attention_mask is not None:  # the token before a text is not asked for its first word
            wanted = wanted.masked_fill(attention_mask == 0, IGNORED)
        kept = logits_to_keep if isinstance(logits_to_keep, Tensor) else slice(-logits_to_keep, None)
        logits, loss = self._score(states if labels is not None else states[:, kept], wanted)
        return CausalLMOutput(
            loss,
            logits,
            hidden_states=outputs.hidden_states and tuple(_turned(one, back) for one in outputs.hidden_states),
            attentions=outputs.attentions and tuple(_turned(one, back, 2, 3) for one in outputs.attentions),
        )

    @torch.no_grad()
    def generate(self, *given: Any, use_cache: bool | None = None, **options: Any) -> Any:
        """As every model of `transformers` does, without a cache: the whole text is read again for each new word."""
        _require_no_cache(use_cache)
        ids = given[0] if given else options.get("input_ids", options.get("inputs"))
        states = options.get("inputs_embeds")
        if ids is not None and states is not None and ids.shape[:2] != states.shape[:2]:
            raise MixerError(
                f"input_ids and inputs_embeds must be of the same text; got {tuple(ids.shape[:2])} and"
                f" {tuple(states.shape[:2])}, as (batch, tokens). Give one of them alone."
            )
        return super().generate(*given, use_cache=False, **options)

    def prepare_inputs_for_generation(
        self,
        input_ids: Tensor,
        inputs_embeds: Tensor | None = None,
        position_ids: Tensor | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """What the next look at the text reads; after `inputs_embeds` come the embeddings of the words written since.

        `transformers` reads embeddings once and counts on a cache for them, which it asks for by itself.
        """
        if inputs_embeds is not None and position_ids is not None:
            written = position_ids.shape[-1] - inputs_embeds.shape[1]
            words = self.get_input_embeddings()(input_ids[:, input_ids.shape[1] - written :])
            inputs_embeds = torch.cat([inputs_embeds, words.to(inputs_embeds)], dim=1)
            kwargs |= {"next_sequence_length": None, "past_key_values": None, "use_cache": False}
            kwargs["is_first_iteration"] = True
        prepared: dict[str, Any] = super().prepare_inputs_for_generation(
            input_ids, inputs_embeds=inputs_embeds, position_ids=position_ids, **kwargs
        )
        return prepared

    def _require_positions(self, given: Tensor | None) -> None:
        if given is None or is_traced():
            return
        longest = self.config.longest_input
        if given.shape[1] > longest:
            raise MixerError(
                f"a text must have at most {longest} tokens, padding included; got"
                f" {given.shape[1]}. Generate fewer (max_new_tokens), or give the end of the text."
            )


def _require_no_cache(use_cache: bool | None) -> None:
    if use_cache:
        raise MixerError("a BERT of mixers must read the whole text for each word; got use_cache=True. Leave it out.")


def _leading(attention_mask: Tensor | None) -> Tensor | None:
    """(batch,): how many tokens of padding stand before each text; None if there are none anywhere."""
    if attention_mask is None:
        return None
    leading = (attention_mask.cumsum(dim=1) == 0).sum(dim=1)
    return leading if is_traced() or leading.any() else None


def _turned(one: Tensor, by: Tensor | None, *axes: int) -> Tensor:
    """Each sequence turned to the left by its own number of tokens; those that fall out come in on the right."""
    if by is None:
        return one
    for axis in axes or (1,):
        tokens = one.shape[axis]
        places = torch.arange(tokens, device=one.device) + by[:, None]
        # The remainder by `tokens`, which ONNX has for constants only.
        places = places + tokens * ((places < 0).long() - (places >= tokens).long())
        shape = [len(by)] + [1] * (one.dim() - 1)
        shape[axis] = tokens
        whole = one.expand(len(by), *one.shape[1:])
        one = whole.gather(axis, places.view(shape).expand_as(whole))
    return one
