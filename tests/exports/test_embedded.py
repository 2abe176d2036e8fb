"""Models with an embedding and stages of different sizes: saved, loaded, and refused by file and field."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from anyformer.errors import ModelFileError
from anyformer.exports import load_folder, save_folder
from anyformer.networks import BlockShape, evaluate
from anyformer.networks.digest import digest
from anyformer.networks.layers import weights
from tests.exports.test_loading import edit, set_field
from tests.random_networks import embedded_network

# stages[1] is an attention stage of the network's own sizes, stages[3] a smaller one.
SIZE = r"must be a whole number from 1 to \d+; got"


@pytest.fixture
def network():
    return embedded_network(0, tokens=5, width=3, stream=11)


@pytest.fixture
def folder(network, certificate_for, tmp_path):
    return save_folder(tmp_path / "model", network, certificate_for(network))


def refused(folder, message):
    with pytest.raises(ModelFileError, match=message):
        load_folder(folder)


@pytest.mark.parametrize("positions", [True, False])
@pytest.mark.parametrize("stream", [3, 7, 20])
def test_it_comes_back_bit_for_bit(positions, stream, certificate_for, tmp_path):
    network = embedded_network(1, tokens=4, width=3, stream=stream, positions=positions)
    loaded, _ = load_folder(save_folder(tmp_path / "model", network, certificate_for(network)))
    assert digest(loaded) == digest(network)
    assert loaded.stream_width == stream
    for here, there in zip(loaded.stages, network.stages, strict=True):
        assert {k: v.tobytes() for k, v in weights(here).items()} == {k: v.tobytes() for k, v in weights(there).items()}
    x = np.random.default_rng(0).normal(size=(2, 4, 3))
    assert np.array_equal(evaluate(loaded, x), evaluate(network, x))


def test_the_config_says_only_what_is_not_usual(folder):
    config = json.loads((folder / "config.json").read_text())
    assert (config["width"], config["stream_width"]) == (3, 11)
    sizes = [[stage.get(axis) for axis in ("heads", "head_size", "hidden_size")] for stage in config["stages"]]
    assert sizes == [[None, None, 7], [None] * 3, [None] * 3, [1, 2, None], [None, None, 4]]
    assert set(config["stages"][1]) == {"name", "role", "kind", "layers"}


def test_files_of_table_networks_do_not_speak_of_it(originals):
    for original in originals[:3]:
        text = (original / "config.json").read_text()
        assert "stream_width" not in text
        assert all(set(s) == {"name", "role", "kind", "layers"} for s in json.loads(text)["stages"])


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["stream_width"], 0, f"stream_width {SIZE} 0"),
        (["stream_width"], -11, f"stream_width {SIZE} -11"),
        (["stream_width"], True, f"stream_width {SIZE} True"),
        (["stream_width"], None, f"stream_width {SIZE} None"),
        (["stream_width"], "11", f"stream_width {SIZE} '11'"),
        (["stream_width"], 2**41, f"stream_width {SIZE} 2199023255552"),
        (["stages", 0, "hidden_size"], 14, r"stages\[0\].hidden_size must be a whole number from 1 to 13; got 14"),
        (["stages", 0, "hidden_size"], 0, rf"stages\[0\].hidden_size {SIZE} 0"),
        (["stages", 0, "hidden_size"], [7], rf"stages\[0\].hidden_size {SIZE} \[7\]"),
        (["stages", 0, "hidden_size"], None, rf"stages\[0\].hidden_size {SIZE} None"),
        (["stages", 3, "heads"], 5, r"stages\[3\].heads must be a whole number from 1 to 4; got 5"),
        (["stages", 3, "head_size"], -2, rf"stages\[3\].head_size {SIZE} -2"),
        (
            ["stages", 0, "heads"],
            1,
            r"stages\[0\].'heads' must not be there, the fields are name, role, kind, layers, h",
        ),
        (["stages", 3, "hidden_size"], 1, r"stages\[3\].'hidden_size' must not be there"),
        (["stages", 3, "width"], 1, r"stages\[3\].'width' must not be there"),
    ],
)
def test_a_field_of_the_config(folder, path, value, message):
    edit(folder / "config.json", lambda data: set_field(data, path, value))
    refused(folder, f"config.json: {message}")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["stream_width"], ..., "must hold no tensor that config.json does not describe; got 'W_E'"),
        (["stream_width"], 10, r"stages.0.W_1 must have shape \(2, 7, 10\), by config.json; got \(2, 7, 11\)"),
        (["stream_width"], 2**40, r"must hold the \d+ bytes of tensors that config.json describes"),
        (
            ["stages", 0, "hidden_size"],
            6,
            r"stages.0.W_1 must have shape \(2, 6, 11\), by config.json; got \(2, 7, 11\)",
        ),
        (["stages", 0, "hidden_size"], ..., r"must hold the \d+ bytes of tensors that config.json describes"),
        (["stages", 3, "head_size"], 1, r"stages.3.W_Q must have shape \(2, 1, 1, 11\), by config.json; got \(2, 1, 2"),
    ],
)
def test_a_config_that_does_not_fit_the_tensors(folder, path, value, message):
    edit(folder / "config.json", lambda data: set_field(data, path, value))
    refused(folder, f"model.safetensors:? {message}")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("W_E", None, "must hold the tensor W_E, which config.json describes; it is missing"),
        ("b_R", None, "must hold the tensor b_R"),
        ("W_R", np.zeros((11, 3)), r"W_R must have shape \(3, 11\), by config.json; got \(11, 3\)"),
        ("W_E", np.full((11, 3), np.nan), r"W_E must be finite; got nan at index \(0, 0\)"),
        ("b_R", np.zeros(3, dtype=np.float32), r"b_R must have dtype float64 \(F64\), by config.json; got F32"),
        ("b_E", np.zeros(3), "must hold no tensor that config.json does not describe; got 'b_E'"),
    ],
)
def test_a_tensor(folder, name, value, message):
    tensors = load_file(folder / "model.safetensors")
    if value is None:
        tensors["padding"] = tensors.pop(name)  # the file keeps its size
    else:
        tensors[name] = value
    save_file(tensors, folder / "model.safetensors")
    refused(folder, f"model.safetensors:? {message}")


@pytest.mark.parametrize(("axis", "largest"), [("heads", 4), ("head_size", 3), ("hidden_size", 13)])
def test_no_size_is_larger_than_the_largest_stage(folder, axis, largest):
    """Otherwise a small file could describe blocks that no memory holds."""

    def grow(data):
        for stage in data["stages"]:
            if (axis == "hidden_size") == (stage["kind"] == "feed_forward"):
                stage.setdefault(axis, data[axis])
        data[axis] = 2**40

    edit(folder / "config.json", grow)
    refused(folder, f"config.json: {axis} must be {largest}, the size of the largest stage; got 1099511627776")


def test_a_network_whose_shape_no_stage_has_is_not_saved(network, certificate_for, tmp_path):
    larger = replace(network, shape=BlockShape(4, 3, 14))
    with pytest.raises(ModelFileError, match="hidden_size must be 13, the size of the largest stage; got 14"):
        save_folder(tmp_path / "larger", larger, certificate_for(larger))


def test_a_table_model_with_an_embedding_of_nothing(saved):
    edit(saved / "config.json", lambda data: set_field(data, ["stream_width"], 1))
    refused(saved, "must hold the .*bytes|must hold the tensor W_E")
