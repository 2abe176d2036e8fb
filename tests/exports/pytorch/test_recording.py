"""Hidden states and attention weights, as many as a machine can hold; and the modules that can be hooked."""

import re

import numpy as np
import pytest
import torch

from anyformer.errors import NetworkError
from anyformer.exports.pytorch import Recorded, parts, stages, to_torch
from anyformer.networks import AttentionStage
from anyformer.networks.evaluate import add_positions, apply_stage, embed
from tests.exports.pytorch.rounding import apart
from tests.exports.pytorch.samples import inputs, networks

NETWORKS = networks()
SOME = ["plain", "positions", "embedded", "embedded sparse", "None Sparsemax()"]


@pytest.mark.parametrize("name", SOME)
def test_states_are_those_of_the_definition(name):
    network = NETWORKS[name]
    x = inputs(network)
    module = to_torch(network)
    found = module(torch.tensor(x), output_hidden_states=True)
    assert isinstance(found, Recorded)
    assert found.attentions is None
    assert len(found.hidden_states) == 1 + network.layer_count
    assert torch.equal(found.output, module(torch.tensor(x)))
    # Rounding is at most that of the output; states before the read-out may be larger, by what it scales.
    scale = 1 if network.W_R is None else 1 / np.abs(network.W_R).max()
    allowed = apart(network, x).max() * max(scale, 1) * 10
    state, layer = add_positions(network, embed(network, x)), 0
    for k, stage in enumerate(network.stages):
        assert np.abs(found.hidden_states[layer].detach().numpy() - state).max() <= allowed
        state = apply_stage(stage, state, network.views(k) if isinstance(stage, AttentionStage) else None)
        layer += len(stage)
    assert np.abs(found.hidden_states[-1].detach().numpy() - state).max() <= allowed


@pytest.mark.parametrize("name", SOME)
def test_attentions_are_what_queries_take_of_keys(name):
    network = NETWORKS[name]
    found = to_torch(network)(torch.tensor(inputs(network)), output_attentions=True)
    assert found.hidden_states is None
    sizes = [stage.sizes["heads"] for stage in network.stages if isinstance(stage, AttentionStage) for _ in stage.W_Q]
    assert [each.shape for each in found.attentions] == [(4, heads, network.tokens, network.tokens) for heads in sizes]
    for layer, weights in enumerate(found.attentions):
        assert torch.allclose(weights.sum(dim=-1), torch.ones(()).double(), atol=8 * 2.0**-53, rtol=0)
        if network.pattern is not None:
            lists = network.pattern.layers[layer % network.pattern.period]
            for head in range(weights.shape[1]):
                dense = np.zeros((network.tokens, network.tokens), dtype=bool)
                dense[lists[head % len(lists)].queries(), lists[head % len(lists)].indices] = True
                assert ((weights[:, head] > 0).numpy() == dense).all()


def test_the_first_head_is_the_first(monkeypatch):
    """Each head's weights follow from its own queries and keys, and not from another's."""
    network = NETWORKS["plain"]
    module = to_torch(network)
    with torch.no_grad():
        module.stages[1].W_Q[:, 0], module.stages[1].b_Q[:, 0] = 0.0, 0.0
    found = module(torch.tensor(inputs(network)), output_attentions=True)
    assert (found.attentions[0][:, 0] == 1 / 5).all()
    assert not (found.attentions[0][:, 1] == 1 / 5).any()


def test_too_much_is_refused_before_it_is_computed(monkeypatch):
    network = NETWORKS["plain"]
    module, x = to_torch(network), torch.tensor(inputs(network))
    states, weights = 4 * 11 * 5 * 3, 4 * 2 * 2 * 5 * 5
    monkeypatch.setattr(parts, "MOST_RECORDED", states + weights)
    module(x, output_hidden_states=True, output_attentions=True)
    monkeypatch.setattr(parts, "MOST_RECORDED", states + weights - 1)
    module.stages[0].register_forward_hook(lambda *_: pytest.fail("it was computed"))
    said = (
        f"must be at most {states + weights - 1:,} numbers; these would be {states + weights:,}. Give a smaller batch"
    )
    with pytest.raises(NetworkError, match=re.escape(said)):
        module(x, output_hidden_states=True, output_attentions=True)


def test_a_stage_can_be_hooked_and_its_layers_too(monkeypatch):
    monkeypatch.setattr(stages, "CHUNK", 2)
    network = NETWORKS["plain"]
    module, seen = to_torch(network), {}
    for name in ("stages.1", "stages.1.probability_map", "stages.2.activation"):
        hook = lambda _, given, output, name=name: seen.setdefault(name, []).append(output.shape)  # noqa: E731
        module.get_submodule(name).register_forward_hook(hook)
    with torch.no_grad():
        module(torch.tensor(inputs(network)))
    assert seen == {
        "stages.1": [(4, 5, 3)],
        "stages.1.probability_map": [(4, 2, 5, 5)] * 2,
        "stages.2.activation": [(4, 5, 4)] * 5,
    }
