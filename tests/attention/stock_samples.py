"""Small models of `transformers`, and what they compute densely under a pattern's mask."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("transformers", reason="stock models need transformers: pip install anyformer[bert]")

import transformers
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from anyformer.patterns import PatternFamily, to_dense

VOCABULARY, HEADS, LAYERS = 61, 4, 3
_SIZES = {"vocab_size": VOCABULARY, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": LAYERS}
_BERT = {**_SIZES, "num_attention_heads": HEADS, "attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0}
_LLAMA = {**_SIZES, "num_attention_heads": HEADS, "num_key_value_heads": 2}
_GPT2 = {"vocab_size": VOCABULARY, "n_embd": 24, "n_layer": LAYERS, "n_head": HEADS, "attn_pdrop": 0.0}
CONFIGS: dict[str, Any] = {
    "BERT": (transformers.BertModel, transformers.BertConfig, _BERT),
    "RoBERTa": (transformers.RobertaModel, transformers.RobertaConfig, _BERT),
    "Llama": (transformers.LlamaForCausalLM, transformers.LlamaConfig, _LLAMA),
    "ELECTRA": (transformers.ElectraModel, transformers.ElectraConfig, {**_BERT, "embedding_size": 8}),
    "DistilBERT": (
        transformers.DistilBertModel,
        transformers.DistilBertConfig,
        {"vocab_size": VOCABULARY, "dim": 24, "hidden_dim": 40, "n_layers": LAYERS, "n_heads": HEADS},
    ),
    "GPT-2": (
        transformers.GPT2LMHeadModel,
        transformers.GPT2Config,
        {**_GPT2, "bos_token_id": 0, "eos_token_id": 0},
    ),
}


def stock(name: str, **changes: Any) -> Any:
    """A model with random weights that say something, in float64, ready to be run."""
    model, config, sizes = CONFIGS[name]
    torch.manual_seed(5)
    return model(config(**{**sizes, "initializer_range": 0.5, **changes})).double().eval()


def words(lengths: tuple[int, ...] = (19, 7, 12), left: bool = False) -> dict[str, Tensor]:
    """Random input_ids with padding on the right or on the left, and their mask."""
    longest = max(lengths)
    mask = (torch.arange(longest) < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(3, VOCABULARY, mask.shape, generator=torch.Generator().manual_seed(2))
    mask = mask.flip(1) if left else mask
    return {"input_ids": ids * mask + (1 - mask), "attention_mask": mask}


@contextmanager
def densely(model: Any, pattern: PatternFamily) -> Iterator[Any]:
    """The model with dense attention under the mask of a pattern; layers are counted as they are called."""
    calls = 0

    def attend(module, query, key, value, attention_mask, scaling=None, **_):
        nonlocal calls
        key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], dim=1) for x in (key, value))
        queries, keys = query.shape[2], key.shape[2]
        masks = torch.from_numpy(to_dense(pattern.at(keys)))  # (period, lists, queries, keys)
        seen = masks[calls % len(masks)][torch.arange(query.shape[1]) % masks.shape[1]][:, -queries:]
        scale = query.shape[-1] ** -0.5 if scaling is None else scaling
        scores = query @ key.transpose(2, 3) * scale + (0 if attention_mask is None else attention_mask)
        calls += 1
        return (scores.masked_fill(~seen, -torch.inf).softmax(-1) @ value).transpose(1, 2), None

    before = model.config._attn_implementation
    AttentionInterface.register("dense_reference", attend)
    AttentionMaskInterface.register("dense_reference", eager_mask)
    model.set_attn_implementation("dense_reference")
    yield model
    model.set_attn_implementation(before)
