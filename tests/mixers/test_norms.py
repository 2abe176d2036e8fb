"""Norms before and after: what a layer computes, by hand."""

import pytest
import torch

from anyformer.errors import MixerError
from anyformer.mixers import Attention, MixerBertConfig, MixerBertModel
from tests.mixers.bert_samples import small, words


def build(norm: str) -> MixerBertModel:
    torch.manual_seed(9)
    return MixerBertModel(small(norm=norm, initializer_range=0.5)).double().eval()


def by_hand(model: MixerBertModel, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """A stack with norms before: x + W_O mixer(norm x), then x + W_2 gelu(W_1 norm x), and a norm in the end."""
    for layer in model.encoder.layer:
        mixer, output = layer.attention.self, layer.attention.output
        hidden = hidden + output.dense(mixer(output.LayerNorm(hidden), mask))
        fed = torch.nn.functional.gelu(layer.intermediate.dense(layer.output.LayerNorm(hidden)))
        hidden = hidden + layer.output.dense(fed)
    return model.encoder.LayerNorm(hidden)


def test_a_layer_that_norms_first():
    model, given = build("before"), words()
    embedded = model.embeddings(given["input_ids"])
    expected = by_hand(model, embedded, given["attention_mask"])
    got = model(**given).last_hidden_state
    kept = given["attention_mask"].bool()
    assert torch.allclose(got[kept], expected[kept], rtol=1e-10, atol=1e-12)


def test_the_two_ways_differ_and_after_has_the_weights_of_bert():
    before, after = build("before"), build("after")
    extra = set(before.state_dict()) - set(after.state_dict())
    assert extra == {"encoder.LayerNorm.weight", "encoder.LayerNorm.bias"}
    given = words()
    assert not torch.allclose(before(**given).last_hidden_state, after(**given).last_hidden_state, atol=1e-2)


def test_attention_weights_are_those_that_are_used():
    model = MixerBertModel(small(norm="before", mixers=[Attention(3)] * 4)).double().eval()
    given = words()
    outputs = model(**given, output_attentions=True, output_hidden_states=True)
    layer, hidden = model.encoder.layer[1].attention, outputs.hidden_states[1]
    normed = layer.output.LayerNorm(hidden)
    values = layer.self.value(normed).unflatten(-1, (3, 8)).transpose(1, 2)
    mixed = (outputs.attentions[1] @ values).transpose(1, 2).flatten(2)
    kept = given["attention_mask"].bool()
    assert torch.allclose(mixed[kept], layer.self(normed, given["attention_mask"])[kept], rtol=1e-9, atol=1e-12)


def test_padding_does_not_matter_with_norms_before():
    model = build("before")
    given = words((9, 4, 6))
    alone = {name: tensor[1:2, :4] for name, tensor in given.items()}
    together = model(**given).last_hidden_state[1, :4]
    # The same sums, in batches of another shape.
    assert torch.allclose(model(**alone).last_hidden_state[0], together, rtol=1e-9, atol=1e-11)


def test_other_norms_are_refused():
    with pytest.raises(MixerError, match="norm must be one of after, before; got 'sideways'"):
        MixerBertConfig(norm="sideways")


def test_the_norm_is_kept_in_files(tmp_path):
    build("before").save_pretrained(tmp_path)
    assert MixerBertModel.from_pretrained(tmp_path).config.norm == "before"
