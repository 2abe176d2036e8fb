"""Saved and loaded by the Auto classes, in this process and in another: the same network, to the last bit."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors import safe_open
from transformers import AutoConfig, AutoModel

from anyformer.errors import ModelFileError, NetworkError
from anyformer.exports.huggingface import AnyformerConfig, AnyformerModel, from_huggingface, to_huggingface, write
from anyformer.exports.pytorch import to_torch
from anyformer.networks import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, cast, evaluate
from anyformer.networks.digest import digest
from tests.exports.pytorch.samples import inputs, networks, on_cells

NETWORKS = networks()
SOME = ["plain", "embedded", "embedded sparse", "None Sparsemax()", "SlidingWindow(half_width=1) Entmax(alpha=1.5)"]


@pytest.mark.parametrize("name", SOME)
def test_a_network_comes_back(name, tmp_path):
    network = NETWORKS[name]
    made = to_huggingface(network)
    assert digest(from_huggingface(made)) == digest(network)
    made.save_pretrained(tmp_path)
    loaded = AutoModel.from_pretrained(tmp_path)
    assert type(loaded) is AnyformerModel
    assert loaded.certificate is None
    assert digest(from_huggingface(loaded)) == digest(from_huggingface(tmp_path)) == digest(network)
    x = torch.tensor(inputs(network))
    assert torch.equal(loaded(x).last_hidden_state, to_torch(network)(x))


@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32, FLOAT16, BFLOAT16], ids=str)
def test_its_type_comes_back(dtype, tmp_path):
    network = cast(NETWORKS["embedded sparse"], dtype)
    to_huggingface(network).save_pretrained(tmp_path)
    loaded = AutoModel.from_pretrained(tmp_path)
    assert loaded.dtype == getattr(torch, dtype.name)
    assert digest(from_huggingface(loaded)) == digest(network)


def test_tables_give_the_same_bits_on_their_cells(model, original):
    x = on_cells(model)
    with torch.no_grad():
        found = AutoModel.from_pretrained(original)(torch.tensor(x)).last_hidden_state.numpy()
    assert found.tobytes() == evaluate(model.network, x).tobytes()


def test_names_are_those_of_the_model_folder(model, original):
    with safe_open(original / "model.safetensors", "numpy") as file:
        assert set(file.keys()) == set(model.network.arrays())
    to_torch(model).load_state_dict(AutoModel.from_pretrained(original).state_dict())


def test_a_folder_holds_data_only(original):
    assert {path.name for path in original.iterdir()} == {
        *("config.json", "model.safetensors", "certificate.json", "README.md")
    }
    said = json.loads((original / "config.json").read_text())
    assert set(said) == {"architectures", "dtype", "model_type", "network", "transformers_version"}


def test_the_configuration_counts_as_others_do(original):
    config = AutoConfig.from_pretrained(original)
    assert type(config) is AnyformerConfig
    layers = sum(stage["layers"] for stage in config.network["stages"])
    assert (config.num_hidden_layers, config.num_attention_heads, config.hidden_size) == (layers, 2, 1)
    assert to_huggingface(NETWORKS["embedded"]).config.hidden_size == 11
    with pytest.raises(ModelFileError, match="its field network is empty"):
        AnyformerModel(AnyformerConfig())


@pytest.mark.slow
def test_another_process_loads_the_same(model, original, tmp_path):
    script = (
        "import json, sys, numpy, torch, anyformer.exports.huggingface; from transformers import AutoModel\n"
        "model = AutoModel.from_pretrained(sys.argv[1]); x = torch.tensor(numpy.load(sys.argv[2] + '/x.npy'))\n"
        "numpy.save(sys.argv[2] + '/y.npy', model(x).last_hidden_state.detach().numpy())\n"
        "model.save_pretrained(sys.argv[2] + '/again'); print(json.dumps(model.certificate.to_json()))"
    )
    x = on_cells(model)
    np.save(tmp_path / "x.npy", x)
    ran = subprocess.run(
        [sys.executable, "-c", script, str(original), str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert np.load(tmp_path / "y.npy").tobytes() == evaluate(model.network, x).tobytes()
    assert json.loads(ran.stdout) == model.certificate.to_json()
    again = AutoModel.from_pretrained(tmp_path / "again")
    assert digest(from_huggingface(again)) == again.certificate.weights_digest == model.certificate.weights_digest


@pytest.mark.slow
def test_without_our_import_nothing_is_loaded(original):
    script = "import sys; from transformers import AutoModel; AutoModel.from_pretrained(sys.argv[1])"
    ran = subprocess.run([sys.executable, "-c", script, str(original)], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "anyformer" in ran.stderr.splitlines()[-1] or "model type `anyformer`" in ran.stderr


def test_a_model_can_be_drawn_and_trained():
    torch.manual_seed(0)
    network = NETWORKS["embedded sparse"]
    drawn = AutoModel.from_config(to_huggingface(network).config)
    assert drawn.dtype == torch.float64
    assert digest(from_huggingface(drawn)) != digest(network)
    x = torch.tensor(inputs(network))
    weights = drawn(x, output_attentions=True).attentions[0]
    wanted = to_torch(network)(x, output_attentions=True).attentions[0]
    assert torch.equal(weights > 0, wanted > 0)  # the pattern's masks are those of the network
    drawn(x).last_hidden_state.sum().backward()
    assert all(parameter.grad is not None for parameter in drawn.parameters())


def test_what_is_no_model_of_ours_is_refused():
    with pytest.raises(NetworkError, match="an AnyformerModel or its folder; got a Linear"):
        from_huggingface(torch.nn.Linear(2, 3))
    with pytest.raises(ModelFileError, match="'org/name' is none"):
        from_huggingface("org/name")


def test_writing_replaces_our_models_only(model, folder, monkeypatch, tmp_path):
    with pytest.raises(ModelFileError, match="it holds a model"):
        write(model, folder)
    assert write(model, folder, overwrite=True) == folder
    assert write(model, tmp_path / "new" / "place") == tmp_path / "new" / "place"

    def fail(*_):
        raise OSError("the disk is full")

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(AnyformerModel, "save_pretrained", fail)
        with pytest.raises(ModelFileError, match=r"could not write .* the disk is full"):
            write(model, folder, overwrite=True)
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ModelFileError, match=r"it also holds 'notes\.txt'"):
        write(model, folder, overwrite=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ModelFileError, match="it is a file or a link"):
        write(model, tmp_path / "file", overwrite=True)


def test_pushing_is_refused(model, tmp_path):
    with pytest.raises(ModelFileError, match="without its certificate"):
        to_huggingface(model).save_pretrained(tmp_path / "out", push_to_hub=True)
    assert not (tmp_path / "out").exists()


def test_large_models_are_cut_into_files(model, tmp_path):
    to_huggingface(model).save_pretrained(tmp_path, max_shard_size="1KB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    loaded = AutoModel.from_pretrained(tmp_path)
    assert loaded.certificate.weights_digest == digest(from_huggingface(loaded)) == digest(model.network)
