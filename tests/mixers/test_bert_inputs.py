"""What models and `convert` are given: too many tokens, none, mixers in other forms than a list."""

import pytest
import torch

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

import transformers

from anyformer.mixers import (
    Attention,
    Average,
    Convolution,
    MixerBertConfig,
    MixerBertForCausalLM,
    MixerBertForSequenceClassification,
    MixerBertModel,
    MixerError,
    MixerRobertaConfig,
    MixerRobertaModel,
    convert,
)
from tests.mixers.bert_samples import small

SIZES = {
    "vocab_size": 131,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 20,
}


def ids(tokens: int) -> torch.Tensor:
    return torch.randint(5, 131, (2, tokens), generator=torch.Generator().manual_seed(tokens))


@torch.no_grad()
@pytest.mark.parametrize("kind", [MixerBertModel, MixerBertForSequenceClassification])
def test_a_text_longer_than_the_positions_is_refused(kind):
    model = kind(small(mixers=[Average()] * 4)).eval()
    model(ids(3)), model(ids(32))
    with pytest.raises(MixerError, match=r"must have from 1 to 32 tokens, padding included; got 33\. Cut longer ones"):
        model(ids(33))
    with pytest.raises(MixerError, match="got 40"):
        model(inputs_embeds=torch.zeros(2, 40, 24))
    # A mixer may take fewer than there are positions.
    with pytest.raises(MixerError, match="from 1 to 21 tokens"):
        kind(small())(ids(22))


@torch.no_grad()
def test_positions_that_are_given_are_believed():
    model = MixerBertModel(small(mixers=[Average()] * 4)).eval()
    places = torch.arange(40) % 32
    assert model(ids(40), position_ids=places[None]).last_hidden_state.shape == (2, 40, 24)


@torch.no_grad()
def test_more_positions_may_come_later():
    model = MixerBertModel(small(mixers=[Average()] * 4)).eval()
    model(ids(32))
    model.embeddings.position_embeddings = torch.nn.Embedding(50, 24)
    for name, value in (("position_ids", torch.arange(50)[None]), ("token_type_ids", torch.zeros(1, 50).long())):
        model.embeddings.register_buffer(name, value)
    model.config.max_position_embeddings = 50
    assert model(ids(40)).last_hidden_state.shape == (2, 40, 24)


@torch.no_grad()
def test_padding_takes_no_position_of_a_roberta():
    stock = transformers.RobertaModel(transformers.RobertaConfig(**SIZES)).eval()
    ours = convert(stock, Attention(3))
    given = torch.nn.functional.pad(ids(18), (0, 5), value=1)
    mask = (given != 1).long()
    wanted = stock(given, attention_mask=mask).last_hidden_state[:, :18]
    assert torch.allclose(ours(given, attention_mask=mask).last_hidden_state[:, :18], wanted, atol=1e-5)
    with pytest.raises(MixerError, match="from 1 to 18 tokens, padding included; got 19"):
        ours(torch.nn.functional.pad(ids(19), (0, 5), value=1))
    with pytest.raises(MixerError, match="from 1 to 18 tokens"):
        ours(inputs_embeds=torch.zeros(2, 19, 24))


@torch.no_grad()
@pytest.mark.parametrize("mixer", [Convolution(kernel=5, filters=4), Average(), Attention(3)], ids=str)
def test_a_text_without_tokens_is_refused(mixer):
    empty = torch.zeros(2, 0, dtype=torch.long)
    for model in (
        MixerBertModel(MixerBertConfig(**SIZES, mixers=[mixer] * 3)),
        MixerBertForCausalLM(MixerBertConfig(**SIZES, mixers=[mixer] * 3, is_decoder=True)),
        MixerRobertaModel(MixerRobertaConfig(**SIZES, mixers=[mixer] * 3)),
    ):
        for mask in (None, empty):
            with pytest.raises(MixerError, match=r"must have from 1 to \d+ tokens, padding included; got 0"):
                model(empty, attention_mask=mask)


def test_one_mixer_is_converted_to_in_every_layer():
    stock = transformers.BertModel(transformers.BertConfig(**SIZES))
    assert convert(stock, Average()).config.layer_mixers == (Average(),) * 3
    assert convert(stock, (Average(),) * 3).config.layer_mixers == (Average(),) * 3
    with pytest.raises(MixerError, match="one mixer a layer, num_hidden_layers = 3; got 1"):
        convert(stock, [Average()])


@pytest.mark.parametrize("given", [None, "average", Average, 3, {"kind": "average"}])
def test_what_are_no_mixers_is_refused(given):
    stock = transformers.BertModel(transformers.BertConfig(**SIZES))
    with pytest.raises(MixerError, match=r"mixers must be one for each of the 3 layers, or one for all of them; got "):
        convert(stock, given)
    if given is not None:
        with pytest.raises(
            MixerError, match=r"mixers must be a list, one mixer a layer; got .*Write \[mixer\] \* layers"
        ):
            MixerBertConfig(**SIZES, mixers=given)
