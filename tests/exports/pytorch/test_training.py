"""Modules train like any other: a gradient for every weight, the same whether layers are run at once or in chunks."""

import pytest
import torch

from anyformer.exports.pytorch import from_torch, stages, to_torch
from anyformer.networks import evaluate
from anyformer.networks.digest import digest
from tests.exports.pytorch.samples import inputs, networks

NETWORKS = networks()
SOME = ["plain", "embedded sparse", "None Sparsemax()"]


@pytest.mark.parametrize("name", SOME)
def test_gradients_are_those_of_differences(name):
    module = to_torch(NETWORKS[name])
    x = torch.tensor(inputs(NETWORKS[name], 1))
    names, parameters = zip(*module.named_parameters(), strict=True)

    def loss(*given):
        return torch.func.functional_call(module, dict(zip(names, given, strict=True)), x).sin().sum()

    assert torch.autograd.gradcheck(loss, parameters, fast_mode=True)


@pytest.mark.parametrize("name", SOME)
def test_a_step_lowers_the_loss_and_gives_another_network(name):
    network = NETWORKS[name]
    module = to_torch(network).train()
    x = torch.tensor(inputs(network))
    target = torch.zeros_like(x)
    optimiser = torch.optim.SGD(module.parameters(), lr=1e-4)
    before = torch.nn.functional.mse_loss(module(x), target)
    before.backward()
    assert all(parameter.grad is not None for parameter in module.parameters())
    optimiser.step()
    assert torch.nn.functional.mse_loss(module(x), target) < before
    trained = from_torch(module)
    assert digest(trained) != digest(network)
    assert evaluate(trained, x.numpy()).shape == x.shape


@pytest.mark.parametrize("name", SOME)
def test_chunks_have_the_same_gradients(name, monkeypatch):
    network = NETWORKS[name]
    x = torch.tensor(inputs(network), requires_grad=True)
    found = []
    for size in (stages.CHUNK, 1, 2):  # stages have 1, 2, 3 and 5 layers
        monkeypatch.setattr(stages, "CHUNK", size)
        module = to_torch(network)
        output = module(x)
        found.append((output, *torch.autograd.grad(output.square().sum(), [x, *module.parameters()])))
    for others in found[1:]:
        assert all(torch.equal(one, other) for one, other in zip(found[0], others, strict=True))


def test_frozen_weights_get_no_gradient_in_chunks(monkeypatch):
    monkeypatch.setattr(stages, "CHUNK", 2)
    module = to_torch(NETWORKS["plain"])
    module.stages[0].W_1.requires_grad_(False)
    module(torch.tensor(inputs(NETWORKS["plain"]))).sum().backward()
    without = [name for name, parameter in module.named_parameters() if parameter.grad is None]
    assert without == ["stages.0.W_1"]


def test_a_chunk_is_run_again_and_not_kept(monkeypatch):
    monkeypatch.setattr(stages, "CHUNK", 2)
    module = to_torch(NETWORKS["plain"])
    runs = []
    module.stages[2].activation.register_forward_hook(lambda *_: runs.append(torch.is_grad_enabled()))
    module(torch.tensor(inputs(NETWORKS["plain"]))).sum().backward()
    assert runs == [False] * 5 + [True] * 5
