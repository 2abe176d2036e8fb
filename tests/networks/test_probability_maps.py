"""Maps from scores to weights, and the battery that anybody's own can be run through."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.errors import NetworkError
from anyformer.networks import Entmax, Hardmax, Softmax, Sparsemax, check_probability_map, probability_map

MAPS = [Softmax(), Hardmax(), Sparsemax(), Entmax(1.1), Entmax(1.5), Entmax(2.0), Entmax(3.5)]


@pytest.mark.parametrize("rho", MAPS, ids=repr)
def test_all_maps_pass_the_battery(rho):
    check_probability_map(rho)


def test_sparsemax_is_the_projection_on_the_simplex():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 6)) * 2
    weights = Sparsemax()(scores)
    others = rng.dirichlet(np.ones(6), size=(200, 300))
    nearest = ((others - scores[:, None]) ** 2).sum(axis=2).min(axis=1)
    assert (((weights - scores) ** 2).sum(axis=1) <= nearest + 1e-12).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=0, atol=1e-14)


def test_entmax_lies_between_softmax_and_sparsemax():
    scores = np.random.default_rng(1).normal(size=(300, 5)) * 2
    np.testing.assert_allclose(Entmax(2.0)(scores), Sparsemax()(scores), rtol=0, atol=1e-14)
    # First-order in α − 1: half of it times the spread of the scores squared.
    np.testing.assert_allclose(Entmax(1 + 1e-6)(scores), Softmax()(scores), rtol=0, atol=1e-4)


@given(st.integers(0, 10**6), st.sampled_from([1.05, 1.3, 2.0, 4.0]))
def test_entmax_solves_its_equation(seed, alpha):
    scores = np.random.default_rng(seed).normal(size=(1, 5)) * 3
    weights = Entmax(alpha)(scores)[0]
    taus = (alpha - 1) * scores[0] - weights ** (alpha - 1)
    inside = weights > 0
    # All keys with weight share τ; the others lie below it. τ is off by a few ulps, which a power 1/(α − 1) below 1
    # turns into that power of them in a weight near 0; the division that makes five weights add up spreads it to all.
    doubt = 1e-12 + (alpha - 1) * 5 * (2.0**-50) ** min(1, 1 / (alpha - 1))
    assert np.ptp(taus[inside]) < doubt
    assert ((alpha - 1) * scores[0][~inside] <= taus[inside].max() + doubt).all()


@pytest.mark.parametrize("rho", [rho for rho in MAPS if rho != Hardmax()], ids=repr)
@pytest.mark.parametrize("lead", [1e-3, 0.7, 40.0])
def test_beyond_the_saturating_scale_float64_is_hardmax(rho, lead):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(50, 7))
    scores[:, 3] = scores.max(axis=1) + lead
    assert np.array_equal(rho(scores * rho.saturating_scale(lead) * 2), Hardmax()(scores))
    scores[:, 5] = scores[:, 3]
    assert np.array_equal(rho(scores * rho.saturating_scale(lead) * 2), Hardmax()(scores))


@pytest.mark.parametrize("rho", MAPS, ids=repr)
@pytest.mark.parametrize("keys", [1, 3, 5, 6, 7])
def test_equal_scores_get_exactly_equal_shares(rho, keys):
    assert np.array_equal(rho(np.full((2, keys), 4.2)), np.full((2, keys), 1.0 / keys))


@dataclass(frozen=True)
class Faulty:
    """A softmax with one thing wrong."""

    fault: str

    def __call__(self, scores):
        weights = Softmax()(scores)
        if self.fault == "sum":
            return weights * 1.001
        if self.fault == "negative":
            return weights * 1.5 - 0.5 / scores.shape[-1]
        if self.fault == "order":
            return Softmax()(-scores)
        if self.fault == "position":
            return Softmax()(scores + 0.01 * np.arange(scores.shape[-1]))
        return weights[..., :-1] if self.fault == "shape" else weights

    def scale(self, lead, loss, keys):
        if self.fault == "scale":
            return 0.9 * Softmax().scale(lead, loss, keys)
        return np.inf if self.fault == "infinite" else Softmax().scale(lead, loss, keys)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("sum", "add up to 1"),
        ("negative", "non-negative"),
        ("order", "larger score"),
        ("position", "must not"),
        ("shape", "keep the shape"),
        ("scale", "must get at least"),
        ("infinite", "finite number"),
    ],
)
def test_faulty_maps_are_caught(fault, message):
    with pytest.raises(NetworkError, match=message):
        check_probability_map(Faulty(fault))


@pytest.mark.parametrize("alpha", [1.0, 0.5, 17.0, float("nan")])
def test_alphas_that_mean_nothing_are_refused(alpha):
    with pytest.raises(NetworkError, match="alpha must be above 1"):
        Entmax(alpha)


@pytest.mark.parametrize("rho", [Sparsemax(), Entmax(), Entmax(1.2)], ids=str)
@given(seed=st.integers(0, 2**32 - 1), keys=st.integers(2, 200))
def test_weights_add_up_to_one_within_the_margin_of_the_checker(rho, seed, keys):
    """One winner with nearly all the weight and all others in the support: there the threshold's sum is largest."""
    random = np.random.default_rng(seed)
    lag = random.uniform(0.5, 0.99)
    scores = -lag - random.uniform(0, (1 - lag) / keys, (7, keys))
    scores[:, random.integers(keys)] = 0.0
    # The exact sum of the float64 weights: math.fsum is correctly rounded.
    off = max(abs(math.fsum(weights) - 1) for weights in rho(scores))
    assert off <= (keys + 1) * 2.0**-53


def test_maps_by_name():
    assert probability_map("entmax") == Entmax(1.5)
    assert probability_map("entmax:1.2") == probability_map("entmax: alpha = 1.2") == Entmax(1.2)
    assert [probability_map(name) for name in ("softmax", "sparsemax")] == [Softmax(), Sparsemax()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sofmax", "a probability map must be one of softmax, sparsemax, entmax; got 'sofmax'. Did you mean 'softmax'"),
        ("hardmax", "must be one of softmax, sparsemax, entmax; got 'hardmax'"),
        ("softmax:2", "must read key=value"),
        ("softmax:sharpness=2", "the probability map 'softmax' must get no parameters; got 'sharpness'"),
        ("entmax:x", "alpha must be above 1, .* got 'x'"),
        ("entmax:true", "alpha must be above 1, .* got True"),
        ("entmax:alpha=1", "alpha must be above 1, .* got 1"),
    ],
)
def test_maps_that_there_are_not(text, message):
    with pytest.raises(NetworkError, match=message):
        probability_map(text)
