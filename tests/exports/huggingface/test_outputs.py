"""Outputs have the form that Hugging Face's tools expect."""

import pytest
import torch
from transformers.modeling_outputs import BaseModelOutput

from anyformer.errors import NetworkError
from anyformer.exports.huggingface import to_huggingface
from anyformer.exports.pytorch import to_torch
from tests.exports.pytorch.samples import inputs, networks

NETWORK = networks()["embedded sparse"]


@pytest.fixture
def x():
    return torch.tensor(inputs(NETWORK))


def test_everything_that_is_asked_for_is_there(x):
    made = to_huggingface(NETWORK)
    wanted = to_torch(NETWORK)(x, output_hidden_states=True, output_attentions=True)
    found = made(inputs_embeds=x, output_hidden_states=True, output_attentions=True)
    assert isinstance(found, BaseModelOutput)
    assert torch.equal(found.last_hidden_state, wanted.output)
    for ours, theirs in ((wanted.hidden_states, found.hidden_states), (wanted.attentions, found.attentions)):
        assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
    assert len(found.hidden_states) == 1 + made.config.num_hidden_layers
    assert found.last_hidden_state.shape == (4, 7, 3)
    assert found.hidden_states[-1].shape == (4, 7, 11)


def test_what_is_not_asked_for_is_not(x):
    made = to_huggingface(NETWORK)
    assert set(made(x)) == {"last_hidden_state"}
    assert set(made(x, output_attentions=True)) == {"last_hidden_state", "attentions"}
    assert len(made(x, output_hidden_states=True, return_dict=False)) == 2
    (output,) = made(x, return_dict=False)
    assert torch.equal(output, made(x).last_hidden_state)


def test_the_configuration_may_ask(x, tmp_path):
    made = to_huggingface(NETWORK)
    made.config.output_hidden_states = made.config.output_attentions = True
    assert set(made(x)) == {"last_hidden_state", "hidden_states", "attentions"}
    assert set(made(x, output_attentions=False)) == {"last_hidden_state", "hidden_states"}
    made.save_pretrained(tmp_path)
    assert set(type(made).from_pretrained(tmp_path)(x)) == {"last_hidden_state", "hidden_states", "attentions"}


@pytest.mark.parametrize("given", [{"input_ids": torch.zeros(1, 7, dtype=torch.int64)}, {}])
def test_ids_are_refused(given):
    with pytest.raises(NetworkError, match="takes vectors and no ids"):
        to_huggingface(NETWORK)(**given)


def test_wrong_shapes_are_refused():
    with pytest.raises(NetworkError, match=r"\(batch, 7, 3\); got \(4, 3, 7\)"):
        to_huggingface(NETWORK)(torch.zeros(4, 3, 7, dtype=torch.float64))
