"""The certificate goes where its weights go, and nowhere else."""

import hashlib
import json
import re
import warnings
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoModel

import anyformer as af
from anyformer.errors import ModelFileError, NetworkError
from anyformer.exports.huggingface import AnyformerModel, from_huggingface, to_huggingface
from anyformer.networks import FLOAT32, cast
from anyformer.networks.digest import digest

GONE = "the certificate is not carried along"


def metadata(folder):
    with safe_open(folder / "model.safetensors", "numpy") as file:
        return file.metadata()


def step(loaded):
    """One step of training."""
    x = torch.rand(5, loaded.structure.tokens, loaded.structure.width, dtype=loaded.dtype)
    loaded(x).last_hidden_state.square().sum().backward()
    torch.optim.SGD(loaded.parameters(), lr=1e-3).step()


def test_it_travels_in_the_folder(model, original):
    loaded = AutoModel.from_pretrained(original)
    assert loaded.certificate.to_json() == model.certificate.to_json()
    assert metadata(original) == {
        "format": "pt",
        "anyformer_weights_digest": model.certificate.weights_digest,
        "anyformer_certificate_sha256": hashlib.sha256((original / "certificate.json").read_bytes()).hexdigest(),
    }
    assert af.verify(from_huggingface(loaded), loaded.certificate).verdict is af.Verdict.PROVED
    assert af.Model(from_huggingface(loaded), loaded.certificate).verify().verdict is af.Verdict.PROVED


def test_metadata_change_no_weight(model, original):
    arrays = model.network.arrays()
    found = load_file(original / "model.safetensors")
    assert {name: tensor.numpy().tobytes() for name, tensor in found.items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }


def test_it_stays_behind_when_the_model_was_trained(folder):
    loaded = AnyformerModel.from_pretrained(folder)
    step(loaded)
    with pytest.warns(UserWarning, match=f"{GONE}: it was issued for other weights, which have changed since"):
        loaded.save_pretrained(folder)
    assert not (folder / "certificate.json").exists()
    assert "This model has no certificate" in (folder / "README.md").read_text()
    assert set(metadata(folder)) == {"format", "anyformer_weights_digest"}
    again = AnyformerModel.from_pretrained(folder)  # without a warning
    assert again.certificate is None
    assert digest(from_huggingface(again)) == metadata(folder)["anyformer_weights_digest"]


def test_it_stays_behind_when_weights_were_exchanged(folder):
    place = folder / "model.safetensors"
    tensors = load_file(place)
    tensors["stages.0.W_1"][0, 0, 0] += 2.0**-40
    save_file(tensors, place, metadata=metadata(folder))
    with pytest.warns(UserWarning, match=f"{GONE}: .* was issued for other weights than those that were loaded"):
        assert AutoModel.from_pretrained(folder).certificate is None


def test_it_stays_behind_in_another_type(original):
    with pytest.warns(UserWarning, match=GONE):
        loaded = AutoModel.from_pretrained(original, dtype=torch.float32)
    assert loaded.certificate is None
    assert from_huggingface(loaded).dtype == FLOAT32


def test_another_file_is_not_taken_for_it(folder):
    place = folder / "certificate.json"
    said = json.loads(place.read_text())
    place.write_text(json.dumps(said, indent=7))
    with pytest.warns(UserWarning, match=f"{GONE}: .* is not the file that the weights were saved with"):
        assert AutoModel.from_pretrained(folder).certificate is None
    place.unlink()
    with pytest.warns(UserWarning, match=f"{GONE}: certificate.json, which the weights were saved with, is missing"):
        assert AutoModel.from_pretrained(folder).certificate is None


def test_weights_without_metadata_are_compared_by_their_digest(folder):
    place = folder / "model.safetensors"
    save_file(load_file(place), place)
    assert AutoModel.from_pretrained(folder).certificate is not None


def test_a_certificate_of_another_size_is_refused(folder, compiled_models):
    (folder / "certificate.json").write_text(json.dumps(compiled_models[0].certificate.to_json()))
    with pytest.raises(ModelFileError, match=r"certificate\.json: target\.tokens must be 4"):
        AnyformerModel.from_pretrained(folder)


def test_a_false_model_gets_no_certificate(model):
    false = replace(model, network=cast(model.network, FLOAT32))
    with pytest.warns(UserWarning, match=GONE):
        assert to_huggingface(false).certificate is None


def test_other_weights_given_to_save_are_those_that_count(model, tmp_path):
    made = to_huggingface(model)
    state = {name: tensor * 1.25 for name, tensor in made.state_dict().items()}
    with pytest.warns(UserWarning, match=GONE):
        made.save_pretrained(tmp_path, state_dict=dict(state))
    loaded = AnyformerModel.from_pretrained(tmp_path)
    assert digest(from_huggingface(loaded)) == metadata(tmp_path)["anyformer_weights_digest"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.save_pretrained(tmp_path / "own")
    assert AnyformerModel.from_pretrained(tmp_path / "own").certificate is not None


def test_only_the_main_process_writes(model, tmp_path):
    to_huggingface(model).save_pretrained(tmp_path / "other", is_main_process=False)
    assert not list((tmp_path / "other").iterdir())


def test_infinite_weights_are_not_saved(model, tmp_path):
    made = to_huggingface(model)
    with torch.no_grad():
        made.stages[0].b_1[0, 0] = float("inf")
    with pytest.raises(NetworkError, match=re.escape("b_1 must be finite; got inf at index (0, 0)")):
        made.save_pretrained(tmp_path / "out")
    assert not (tmp_path / "out").exists()
