import numpy as np
import onnx
import pytest

from anyformer.exports.onnx import to_plain_onnx
from anyformer.exports.vnnlib.folding import folding_error
from anyformer.networks import FLOAT32, FLOAT64, cast
from anyformer.networks.evaluate import evaluate
from anyformer.targets.domains import Box
from tests.exports.onnx.conftest import Claimed
from tests.random_networks import embedded_network


def in_float64(model, x):
    """The folded float32 graph on one input in float64: near enough to real arithmetic."""
    made = to_plain_onnx(model, fold_uniform=True)
    values = {one.name: onnx.numpy_helper.to_array(one).astype(np.float64) for one in made.graph.initializer}
    values["X"] = x[None]
    for node in made.graph.node:
        given = [values[name] for name in node.input]
        values[node.output[0]] = OPERATORS[node.op_type](*given)
    return values["Y"][0]


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


OPERATORS = {
    "Add": np.add,
    "MatMul": np.matmul,
    "Relu": lambda x: np.maximum(x, 0),
    "Softmax": softmax,
    "Transpose": lambda x: x.swapaxes(1, 2),
}


def largest_difference(model, domain, count=200):
    rng, network = np.random.default_rng(1), model.network
    low, high = domain.lows(network.width), domain.highs(network.width)
    x = low + rng.random((count, network.tokens, network.width)) * (high - low)
    wanted = evaluate(cast(network, FLOAT64), x)
    return max(np.abs(in_float64(model, one) - right).max() for one, right in zip(x, wanted, strict=True))


def test_what_folding_changes_is_bounded(narrow_models):
    model = narrow_models[0]
    bound, away = folding_error(model.network, model.target.domain), largest_difference(model, model.target.domain)
    # 1/3 is no float32 number: the difference is real, and the bound is not idle.
    assert 2**-30 < away <= bound < 2**10 * away


@pytest.mark.parametrize("seed", range(4))
def test_random_networks_stay_within_the_bound(compiled_models, seed):
    network = cast(embedded_network(seed), FLOAT32)
    domain = Box(-1.0, 2.0)
    bound = folding_error(network, domain)
    away = largest_difference(Claimed(network, compiled_models[0].certificate), domain, count=40)
    # Beyond float64's own rounding, which is 2⁻²⁹ of float32's.
    assert 0 < away <= bound + 2**-25 * bound


def test_a_power_of_two_is_exact(narrow_models):
    model = narrow_models[1]
    assert folding_error(model.network, model.target.domain) == 0.0
    assert largest_difference(model, model.target.domain) <= 2**-46
