import math
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest

import anyformer as af
from anyformer.errors import ExportError
from anyformer.exports.onnx import model as module
from anyformer.exports.onnx import run_onnx, to_onnx
from anyformer.networks import FLOAT32, cast
from anyformer.networks.activations import step
from anyformer.networks.digest import digest
from anyformer.networks.dtypes import BFLOAT16, FLOAT16
from anyformer.networks.evaluate import evaluate
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.network import BlockShape, Network
from anyformer.networks.probability_maps import Entmax, Hardmax, Sparsemax
from tests.exports.onnx.conftest import inside_every_cell
from tests.random_networks import attention_stage, embedded_network, random_network


def test_tables_give_the_bits_of_the_definition_on_every_cell(tables):
    kinds = set()
    for model in tables:
        x = inside_every_cell(model)
        made = to_onnx(model)
        assert np.array_equal(run_onnx(made, x), evaluate(model.network, x)), model.certificate
        kinds |= {node.op_type for node in made.graph.node}
    assert {"Scan", "Softmax", "Where", "TopK", "Loop"} <= kinds


def test_the_comparison_of_bits_can_fail(tables, claimed):
    for model in tables[:2]:
        last = model.network.stages[-1]
        moved = replace(last, b_2=last.b_2 + 2.0**-50)
        other = replace(model.network, stages=(*model.network.stages[:-1], moved))
        x = inside_every_cell(model)
        assert not np.array_equal(run_onnx(to_onnx(claimed(other)), x), evaluate(model.network, x))


def test_scans_and_unrolled_layers_give_the_same_bits_on_cells(tables, monkeypatch):
    model = tables[0]
    assert model.network.layer_count > module.MOST_UNROLLED
    scanned = to_onnx(model)
    monkeypatch.setattr(module, "MOST_UNROLLED", model.network.layer_count)
    unrolled = to_onnx(model)
    assert "Scan" in {node.op_type for node in scanned.graph.node}
    assert "Scan" not in {node.op_type for node in unrolled.graph.node}
    x = inside_every_cell(model)
    assert np.array_equal(run_onnx(scanned, x), run_onnx(unrolled, x))


def test_weighted_values_are_rounded_before_they_are_added(tables):
    """What the certificates ask for: no matrix product takes the weights of attention."""
    nodes = to_onnx(tables[4]).graph.node
    weights = {node.output[0] for node in nodes if node.op_type == "Softmax"}
    readers = {name for name in weights for node in nodes if name in node.input and node.op_type != "Unsqueeze"}
    assert weights
    assert not readers


def test_compiled_models_stay_within_their_certificates(compiled_models):
    for model in compiled_models:
        target, rng = model.target, np.random.default_rng(3)
        proved = af.construct(target, 0.01, p=math.inf, method="compile")
        x = rng.random((500, target.tokens, target.width))
        away = np.abs(run_onnx(to_onnx(proved), x) - target(x)).max()
        assert away <= proved.certificate.certified_error


def differences_allowed(network: Network, x: np.ndarray, got: np.ndarray) -> np.ndarray:
    """How far two orders of rounding may be apart: what it does to move every weight and input by that many roundings.

    Each result takes the roundings of a path through the network; first order, and four times as much for the rest.
    """
    rng, unit = np.random.default_rng(9), network.dtype.unit
    path = sum(sum(stage.sizes.values()) for stage in network.stages) + network.stream_width + network.tokens
    # In float64, where a step of 2⁻³⁰ is far above rounding and far below curvature.
    size = 2.0**-30
    wide = cast(network, af.networks.FLOAT64)
    moves = []
    for _ in range(20):

        def moved(array):
            return array * (1 + size * rng.choice([-1.0, 1.0], array.shape))

        stages = tuple(
            replace(stage, **{name: moved(getattr(stage, name)) for name in stage.AXES}) for stage in wide.stages
        )
        moves.append(np.abs(evaluate(replace(wide, stages=stages), moved(x)) - evaluate(wide, x)))
    return 4 * path * unit / size * np.max(moves, axis=0) + path * unit * (1 + np.abs(got))


@pytest.mark.parametrize("dtype", [af.networks.FLOAT64, FLOAT32])
def test_any_network_agrees_with_the_definition_up_to_rounding(claimed, dtype):
    pattern = af.patterns.SlidingWindow().at(5)
    for network in (
        random_network(seed=1, tokens=3, width=2, positions=True),
        embedded_network(seed=2),
        embedded_network(seed=3, pattern=pattern),
    ):
        network = cast(network, dtype)
        x = dtype.rounded(np.random.default_rng(4).random((7, network.tokens, network.width)))
        got = run_onnx(to_onnx(claimed(network)), x)
        assert got.dtype == dtype.name
        wanted = evaluate(network, x)
        assert (np.abs(got - wanted) <= differences_allowed(network, x, wanted)).all()


@pytest.mark.parametrize("rho", [Sparsemax(), Entmax(1.5), Entmax(1.2)])
def test_other_probability_maps_agree_up_to_rounding(claimed, rho):
    pattern = af.patterns.SlidingWindow().at(5)
    for seen in (None, pattern):
        stages = (replace(attention_stage(np.random.default_rng(5), 2, width=3, heads=2), probability_map=rho),)
        network = Network(5, 3, BlockShape(2, 1, 1), stages, pattern=seen)
        x = np.random.default_rng(6).normal(size=(11, 5, 3))
        got, wanted = run_onnx(to_onnx(claimed(network)), x), evaluate(network, x)
        # Every map moves by at most its scores, and powers of 1/(α − 1) ≤ 5 by so many times that.
        assert np.abs(got - wanted).max() <= 2**-44


def test_initializers_are_the_weights_by_their_names(compiled_models, tables):
    for model in (*compiled_models, tables[0], tables[9]):
        held = {one.name: onnx.numpy_helper.to_array(one) for one in to_onnx(model).graph.initializer}
        for name, array in model.network.arrays().items():
            assert held[name].dtype == np.float64
            assert np.array_equal(held[name], array), name


def test_metadata_say_what_is_claimed(compiled_models, claimed):
    model = compiled_models[1]
    said = {entry.key: entry.value for entry in to_onnx(model).metadata_props}
    assert said["anyformer.target"] == "running-maximum"
    assert float.fromhex(said["anyformer.certified_error"]) == model.certificate.certified_error
    assert said["anyformer.weights_digest"] == digest(model.network) == model.certificate.weights_digest
    assert said["anyformer.dtype"] == "float64"
    assert said["anyformer.certificate_is_of_these_weights"] == "true"
    narrow = to_onnx(claimed(cast(model.network, FLOAT32)))
    said = {entry.key: entry.value for entry in narrow.metadata_props}
    assert (said["anyformer.dtype"], said["anyformer.certificate_is_of_these_weights"]) == ("float32", "false")


def test_a_batch_is_free_or_fixed(compiled_models):
    model = compiled_models[0]
    x = np.zeros((5, 3, 1))
    assert run_onnx(to_onnx(model), x).shape == (5, 3, 1)
    assert run_onnx(to_onnx(model, batch=5), x).shape == (5, 3, 1)
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
        run_onnx(to_onnx(model, batch=4), x)


def test_float16_runs(compiled_models, claimed):
    narrow = cast(compiled_models[2].network, FLOAT16)
    x = FLOAT16.rounded(np.random.default_rng(7).random((4, 2, 2)))
    got, wanted = run_onnx(to_onnx(claimed(narrow)), x), evaluate(narrow, x)
    assert got.dtype == np.float16
    assert (np.abs(got - wanted) <= differences_allowed(narrow, x, wanted)).all()


def test_the_operators_are_those_of_the_opset(tables):
    for model in (tables[0], tables[4]):
        made = to_onnx(model)
        assert [(one.domain, one.version >= 17) for one in made.opset_import] == [("", True)]
        onnx.checker.check_model(made, full_check=True)


def test_what_has_no_form_is_refused(claimed, monkeypatch):
    network = random_network(seed=1, tokens=3, width=2)
    with pytest.raises(ExportError, match="batch must be at least 1; got 0"):
        to_onnx(claimed(network), batch=0)
    with pytest.raises(ExportError, match="no bfloat16 on processors"):
        to_onnx(claimed(cast(network, BFLOAT16)))
    hard = replace(network.stages[1], probability_map=Hardmax())
    with pytest.raises(ExportError, match=r"softmax, sparsemax or entmax .* got Hardmax\(\)"):
        to_onnx(claimed(replace(network, stages=(hard,))))
    jumping = network.stages[0]
    assert isinstance(jumping, FeedForwardStage)
    with pytest.raises(ExportError, match="ReLU to become ONNX; stage 'random' has PiecewiseLinear"):
        to_onnx(claimed(replace(network, stages=(replace(jumping, activation=step()),))))
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    with pytest.raises(ExportError, match="must fit into one ONNX file of 100 bytes"):
        to_onnx(claimed(network))
