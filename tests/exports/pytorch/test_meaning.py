"""A module computes what its network means: to the last bit on the cells of a table, and within rounding elsewhere."""

import dataclasses
import re

import numpy as np
import pytest
import torch

import anyformer as af
from anyformer.errors import NetworkError
from anyformer.exports.pytorch import from_torch, stages, to_torch
from anyformer.networks import BFLOAT16, FLOAT16, FLOAT32, AttentionStage, FeedForwardStage, Network, cast, evaluate
from anyformer.networks.digest import digest
from tests.exports.pytorch.rounding import apart
from tests.exports.pytorch.samples import inputs, networks, on_cells
from tests.random_networks import random_network

NETWORKS = networks()


def outputs(network: Network, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        module = to_torch(network)
        return module(torch.tensor(x).to(next(module.parameters()).dtype)).double().numpy()


def same_bits(model: af.Model) -> bool:
    x = on_cells(model)
    return outputs(model.network, x).tobytes() == evaluate(model.network, x).tobytes()


def test_tables_give_the_same_bits_on_their_cells(averaged_models, small_models):
    assert all(map(same_bits, [*averaged_models, *small_models]))


@pytest.mark.parametrize(
    ("method", "pattern", "tokens"), [("sparse-averaging", "ring", 4), ("sparse-selective-shift", "sliding-window", 2)]
)
def test_sparse_tables_give_the_same_bits_on_their_cells(method, pattern, tokens):
    assert same_bits(af.construct("sort", 0.4, tokens=tokens, method=method, pattern=pattern))


@pytest.mark.parametrize("rho", ["sparsemax", "entmax:1.5"])
def test_tables_with_other_maps_give_the_same_bits_on_their_cells(rho):
    rho = af.networks.probability_map(rho)
    assert same_bits(
        af.construct("sort", 0.4, tokens=2, method="selective-shift", probability_map=rho, max_layers=9999)
    )


def test_the_test_of_bits_can_fail(averaged_models):
    model = averaged_models[0]
    stage = model.network.stages[-1]
    moved = dataclasses.replace(stage, b_2=stage.b_2 + 2.0**-50)
    network = dataclasses.replace(model.network, stages=(*model.network.stages[:-1], moved))
    x = on_cells(model)
    assert outputs(network, x).tobytes() != evaluate(model.network, x).tobytes()


@pytest.mark.parametrize("name", NETWORKS)
def test_any_network_is_within_rounding(name):
    network = NETWORKS[name]
    x = inputs(network)
    bound = apart(network, x)
    assert (np.abs(outputs(network, x) - evaluate(network, x)) <= bound).all()
    assert bound.max() < 1e-9  # not so large that it would hide a fault


def test_compiled_models_are_within_rounding(compiled_models):
    for model in compiled_models:
        x = np.random.default_rng(1).random((200, model.network.tokens, model.network.width))
        bound = apart(model.network, x)
        assert (np.abs(outputs(model.network, x) - evaluate(model.network, x)) <= bound).all()
        assert bound.max() < 1e-9


@pytest.mark.parametrize("method", ["compile", "interpolation"])
def test_the_certificate_holds_for_the_module(method):
    target = af.targets.sort(tokens=3)
    model = af.construct(target, 0.2, p=np.inf, method=method)
    x = np.random.default_rng(2).random((2000, 3, 1))
    assert np.abs(outputs(model.network, x) - target(x)).max() <= model.certificate.certified_error


@pytest.mark.parametrize("name", ["positions", "embedded sparse", "None Sparsemax()"])
def test_a_small_fault_is_more_than_rounding(name):
    network = NETWORKS[name]
    x = inputs(network)
    for k, stage in enumerate(network.stages):
        for weight in stage.AXES:
            moved = dataclasses.replace(stage, **{weight: getattr(stage, weight) * (1 + 1e-4)})
            other = dataclasses.replace(network, stages=(*network.stages[:k], moved, *network.stages[k + 1 :]))
            differs = (np.abs(outputs(other, x) - evaluate(network, x)) > apart(network, x)).any()
            assert differs == (evaluate(other, x) != evaluate(network, x)).any()


@pytest.mark.parametrize("name", ["plain", "positions", "embedded", "embedded sparse"])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT16, BFLOAT16], ids=str)
def test_narrower_networks_run_in_their_type(name, dtype):
    network = cast(NETWORKS[name], dtype)
    module = to_torch(network)
    wanted = getattr(torch, dtype.name)
    assert {parameter.dtype for parameter in module.parameters()} == {wanted}
    x = dtype.rounded(inputs(network) / 4)
    with torch.no_grad():
        found = module(torch.tensor(x).to(wanted))
    assert found.dtype == wanted
    if dtype == FLOAT32:  # in the others the bound exceeds the values
        assert (np.abs(found.double().numpy() - evaluate(network, x)) <= apart(network, x)).all()


def test_what_the_proof_asks_of_exp_holds_here():
    """1 at 0, 0 below −746, within 8 ulps; NumPy's is within one (its own tests), so 7 remain."""
    for count in (1, 3, 4, 17, 100_000):
        x = -np.geomspace(746, 1e-9, count)
        x[-1] = 0.0
        found = torch.exp(torch.tensor(x)).numpy()
        assert found[-1] == 1.0
        assert (np.abs(found - np.exp(x)) <= 7 * np.spacing(np.exp(x))).all()
    assert torch.exp(torch.tensor([-746.0, -1e5, -np.inf], dtype=torch.float64)).tolist() == [0.0, 0.0, 0.0]


def test_weighted_values_are_rounded_before_they_are_added():
    """A third of 3k is k in float64, if it is rounded: n codes that are multiples of n have an exact mean."""
    codes = np.random.default_rng(0).integers(0, 2**40, (50, 7, 2)) * 7.0
    weights = torch.full((50, 1, 1, 7), 1 / 7, dtype=torch.float64)
    found = stages._weighted(weights, torch.tensor(codes)[:, None], None)[:, 0, 0].numpy()
    assert (found == codes.sum(axis=1) / 7).all()


def test_what_is_out_of_view_cannot_leak():
    network = NETWORKS["SlidingWindow(half_width=1) Softmax()"]
    one_layer = dataclasses.replace(
        network, stages=tuple(AttentionStage(s.name, *(getattr(s, n)[:1] for n in s.AXES)) for s in network.stages[1:2])
    )
    x = torch.tensor(inputs(network)).requires_grad_()
    spoiled = x.detach().clone()
    spoiled[:, -1] = float("nan")
    module = to_torch(one_layer)
    blind = ~torch.tensor(af.patterns.to_dense(network.pattern)[0][0])[:, -1]
    clean = module(x)
    assert torch.equal(clean[:, blind], module(spoiled)[:, blind])
    assert torch.isnan(module(spoiled)[:, ~blind]).any()
    (gradient,) = torch.autograd.grad(clean[:, blind].sum(), x)
    assert (gradient[:, -1] == 0).all()
    assert blind.tolist() == [True] * 4 + [False] * 2


@pytest.mark.parametrize("batch", [0, 1, 5])
@pytest.mark.parametrize("name", ["embedded sparse", "None Sparsemax()", "None Entmax(alpha=1.5)", "plain"])
def test_any_batch(name, batch):
    network = NETWORKS[name]
    x = inputs(network, 5)
    found = outputs(network, x[:batch])
    assert found.shape == (batch, network.tokens, network.width)
    assert (np.abs(found - evaluate(network, x)[:batch]) <= apart(network, x[:batch])).all()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(5, 3, dtype=torch.float64), "(batch, 5, 3); got (5, 3). Give one sequence as a batch of one"),
        (torch.zeros(2, 3, 5, dtype=torch.float64), "(batch, 5, 3); got (2, 3, 5)"),
        (torch.zeros(2, 5, 3), "must be torch.float64, as the weights are; got torch.float32"),
        (np.zeros((2, 5, 3)), "must be a tensor (batch, 5, 3); got a ndarray"),
    ],
)
def test_wrong_inputs_are_refused(x, message):
    with pytest.raises(NetworkError, match=re.escape(message)):
        to_torch(NETWORKS["plain"])(x)


def test_hard_networks_are_refused():
    network = random_network(1, tokens=5, width=3)
    hard = dataclasses.replace(network.stages[1], probability_map=af.networks.Hardmax())
    with pytest.raises(NetworkError, match="only networks of softmax and ReLU become modules"):
        to_torch(dataclasses.replace(network, stages=(hard,)))


def test_no_stage_changes_nothing():
    network = Network(5, 3, af.networks.BlockShape(), ())
    x = torch.tensor(inputs(network))
    assert torch.equal(to_torch(network)(x), x)
    assert digest(from_torch(to_torch(network))) == digest(network)


def test_an_empty_stage_changes_nothing():
    empty = FeedForwardStage("none", np.zeros((0, 4, 3)), np.zeros((0, 4)), np.zeros((0, 3, 4)), np.zeros((0, 3)))
    network = Network(5, 3, af.networks.BlockShape(), (empty,))
    x = inputs(network)
    assert (outputs(network, x) == x).all()
