import math
from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.errors import ExportError
from anyformer.exports.onnx import run_onnx, to_plain_onnx
from anyformer.exports.onnx.plain import OPERATORS
from anyformer.networks.probability_maps import Sparsemax
from tests.random_networks import random_network


@pytest.fixture(scope="module")
def models():
    """A mean head alone; a head that compares tokens; two kinds of heads in one model; positions."""
    targets = [
        af.targets.mean_scale(tokens=3),
        af.targets.attention(tokens=4, width=2),
        af.targets.running_maximum(tokens=5),
    ]
    return [af.construct(target, 0.02, p=math.inf, method="compile") for target in targets]


@pytest.mark.parametrize("fold", [False, True])
def test_plain_graphs_compute_the_model(models, fold):
    for model in models:
        x = np.random.default_rng(1).random((1, model.network.tokens, model.network.width))
        made = to_plain_onnx(model, fold_uniform=fold)
        assert {node.op_type for node in made.graph.node} <= set(OPERATORS)
        away = np.abs(run_onnx(made, x) - model.target(x)).max()
        assert away <= model.certificate.certified_error


def test_uniform_attention_is_folded_on_request(models):
    assert "Softmax" in {node.op_type for node in to_plain_onnx(models[0]).graph.node}
    assert "Softmax" not in {node.op_type for node in to_plain_onnx(models[0], fold_uniform=True).graph.node}
    assert "Softmax" in {node.op_type for node in to_plain_onnx(models[1], fold_uniform=True).graph.node}


def test_it_is_one_sequence_with_constant_weights(models):
    made = to_plain_onnx(models[1])
    sizes = [dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim]
    assert sizes == [1, 4, 2]
    constants = {one.name for one in made.graph.initializer}
    computed = {name for node in made.graph.node for name in node.output}
    for node in made.graph.node:
        assert all(name in constants | computed | {"X"} for name in node.input)


def test_what_verifiers_cannot_read_is_refused(claimed):
    network = random_network(seed=1, tokens=3, width=2)
    other = replace(network.stages[1], probability_map=Sparsemax())
    with pytest.raises(ExportError, match="softmax alone"):
        to_plain_onnx(claimed(replace(network, stages=(other,))))
    pattern = af.patterns.Ring().at(3)
    with pytest.raises(ExportError, match="no masks"):
        to_plain_onnx(claimed(replace(network, pattern=pattern)))
    with pytest.raises(ExportError, match="at most 64 layers; this network has 70"):
        to_plain_onnx(claimed(replace(network, stages=network.stages * 7)))
