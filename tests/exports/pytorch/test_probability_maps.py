"""The maps are those of the definition, also where keys are out of view, and their gradients are right."""

import math

import numpy as np
import pytest
import torch

from anyformer.errors import NetworkError
from anyformer.exports.pytorch.probability_maps import as_module
from anyformer.networks import Entmax, Hardmax, Softmax, Sparsemax

MAPS = [Softmax(), Sparsemax(), Entmax(1.5), Entmax(1.2), Entmax(3.0), Entmax(2.0)]
U = 2.0**-53


def scores_of(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(40, 3, 7)) * rng.choice([0.1, 1.0, 30.0], size=(40, 1, 1))
    return np.concatenate([normal, rng.integers(-2, 3, (40, 3, 7)).astype(float), np.zeros((1, 3, 7))])


@pytest.mark.parametrize("rho", MAPS, ids=repr)
def test_weights_are_those_of_the_definition(rho):
    scores = scores_of(0)
    found, wanted = as_module(rho)(torch.tensor(scores)).numpy(), rho(scores)
    # Sums of 7 numbers in another order and another exp or power; a power 1/(α − 1) multiplies what its base is off,
    # and where the power is a root, a base near 0 that is off by u is a weight of u^{1/(α − 1)}.
    power = 1 / (getattr(rho, "alpha", 2.0) - 1)
    assert np.abs(found - wanted).max() <= 64 * max(power, 1) * U ** min(power, 1)
    assert np.abs(found.sum(axis=-1) - 1).max() <= 8 * U


@pytest.mark.parametrize("rho", MAPS, ids=repr)
def test_clear_winners_and_ties_are_exact(rho):
    scores = np.array([[0.0, 2000.0, -5.0], [1000.0, 1000.0, 0.0], [3.0, 3.0, 3.0], [-1e6, 0.0, 1e6]])
    assert as_module(rho)(torch.tensor(scores)).numpy().tobytes() == rho(scores).tobytes()


@pytest.mark.parametrize("rho", MAPS, ids=repr)
def test_keys_out_of_view_do_not_enter(rho):
    scores = scores_of(1)
    seen = np.array([0, 2, 3, 6])
    masked = np.full_like(scores, -math.inf)
    masked[..., seen] = scores[..., seen]
    found = as_module(rho)(torch.tensor(masked)).numpy()
    alone = as_module(rho)(torch.tensor(scores[..., seen])).numpy()
    power = 1 / (getattr(rho, "alpha", 2.0) - 1)
    assert np.abs(found[..., seen] - alone).max() <= 64 * max(power, 1) * U ** min(power, 1)
    assert (np.delete(found, seen, axis=-1) == 0).all()


@pytest.mark.parametrize("rho", MAPS, ids=repr)
def test_gradients_are_those_of_differences(rho):
    torch.manual_seed(3)
    scores = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    module = as_module(rho)
    assert torch.autograd.gradcheck(module, scores, atol=1e-4)
    if not isinstance(rho, Sparsemax) and getattr(rho, "alpha", 1.5) < 2:  # elsewhere weights have kinks in slope
        assert torch.autograd.gradgradcheck(module, scores, atol=1e-3)


@pytest.mark.parametrize("rho", MAPS, ids=repr)
def test_keys_out_of_view_get_no_gradient(rho):
    scores = torch.tensor([[0.3, -math.inf, 0.1], [-math.inf, -math.inf, 2.0]], dtype=torch.float64, requires_grad=True)
    (as_module(rho)(scores) * torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)).sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert (scores.grad[scores.isinf()] == 0).all()
    assert scores.grad[0, 0] < 0 < scores.grad[0, 2]


@pytest.mark.parametrize("rho", [Sparsemax(), Entmax(1.5)], ids=repr)
def test_maps_can_be_mapped_over(rho):
    scores = torch.tensor(scores_of(2))
    assert torch.allclose(torch.vmap(as_module(rho))(scores), as_module(rho)(scores), atol=64 * U, rtol=0)


def test_hardmax_is_refused():
    with pytest.raises(NetworkError, match=r"softmax, sparsemax and entmax .* got Hardmax\(\)"):
        as_module(Hardmax())
