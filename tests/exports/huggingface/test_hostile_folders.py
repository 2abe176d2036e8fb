"""Folders that somebody made to harm: their code never runs, and each is refused with the file and the fault."""

import json
import pickle
import re

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoModel

from anyformer.errors import AnyformerError, ModelFileError
from anyformer.exports.huggingface import AnyformerModel, from_huggingface


def change_config(folder, change):
    said = json.loads((folder / "config.json").read_text())
    change(said)
    (folder / "config.json").write_text(json.dumps(said))


def change_tensors(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def set_in(*path_and_value):
    *path, name, value = path_and_value

    def change(said):
        for step in path:
            said = said[step]
        said[name] = value

    return change


def looping(tokens):
    """A pattern in which every token looks at itself: as a mask it would be far larger than as lists."""
    lists = {"indptr": list(range(tokens + 1)), "indices": list(range(tokens))}
    return {"kind": "explicit", "layers": [[lists]]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_in("auto_map", {"AutoModel": "evil.Evil"}), "must not name code"),
        (set_in("transformers_weights", "elsewhere.bin"), "must not name other weights"),
        (set_in("_attn_implementation", "evil/kernel"), "must not name code on the hub"),
        (set_in("quantization_config", {"quant_method": "bnb"}), "'quantization_config' must not be there"),
        (set_in("fusion_config", {"a": True}), "'fusion_config' must not be there"),
        (set_in("per_layer_config", {"0": {}}), "'per_layer_config' must not be there"),
        (set_in("model_type", "bert"), "model_type must be 'anyformer'; got 'bert'"),
        (set_in("network", None), "its field network is empty"),
        (set_in("network", "text"), "must be as save_pretrained writes it"),
        (set_in("network", "tokens", 2**40), "tokens must be at most 4096 together with width"),
        (set_in("network", "tokens", 5), "'positional_encoding' must have shape (5, 1), by config.json; got (4, 1)"),
        (set_in("network", "width", -1), "width must be a whole number from 1"),
        (set_in("network", "stages", 0, "layers", 10**9), "'stages.0.W_1' must have shape (1000000000, 4, 1)"),
        (set_in("network", "stages", 0, "kind", "norm"), "kind must be one of"),
        (set_in("network", "code", "import os"), "'code' must not be there"),
        (set_in("network", "dtype", "float32"), "network.dtype must not be there"),
        (set_in("dtype", "int8"), "dtype must be one of float64"),
        (set_in("dtype", "nonsense"), "must be as save_pretrained writes it"),
        (set_in("network", "pattern", {"kind": "explicit", "layers": [[{"indptr": [0], "indices": []}]]}), "pattern"),
        (set_in("network", "hidden_size", 5), "'stages.0.W_1' must have shape (8, 5, 1), by config.json; got"),
        (set_in("network", "pattern", looping(5)), "the pattern must have the network's 4 tokens; it has 5"),
        (set_in("network", "pattern", looping(10**5)), "the pattern must have the network's 4 tokens; it has 100000"),
    ],
)
def test_a_false_configuration_is_refused(folder, change, message):
    change_config(folder, change)
    with pytest.raises(AnyformerError, match=re.escape(message)):
        AnyformerModel.from_pretrained(folder)
    with pytest.raises(AnyformerError):
        from_huggingface(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_in("stages.0.W_1", np.zeros((8, 4, 2))), "'stages.0.W_1' must have shape"),
        (set_in("stages.99.W_1", np.zeros(3)), "'stages.99.W_1' must have shape none, for it is unknown"),
        (lambda tensors: tensors.pop("positional_encoding"), "'positional_encoding' must have shape (4, 1)"),
        (lambda tensors: tensors["stages.0.b_2"].fill(np.nan), "b_2 must be finite; got nan at index (0, 0)"),
        (lambda tensors: tensors["positional_encoding"].fill(np.inf), "positional_encoding must be finite"),
    ],
)
def test_false_weights_are_refused(folder, change, message):
    change_tensors(folder, change)
    with pytest.raises(ModelFileError, match=re.escape(message)):
        AutoModel.from_pretrained(folder)


class Evil:
    def __reduce__(self):
        return (open, (EVIDENCE, "w"))


EVIDENCE = ""


def test_pickled_weights_are_never_read(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "EVIDENCE", str(tmp_path / "ran"))
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ModelFileError, match=r"must be safetensors; .* pytorch_model\.bin is pickled"):
        AutoModel.from_pretrained(folder)
    (folder / "model.safetensors").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ModelFileError, match="must be a whole safetensors file"):
        AutoModel.from_pretrained(folder)
    assert not (tmp_path / "ran").exists()
    pickle.loads(pickle.dumps(Evil())).close()  # it would have run
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("options", [{}, {"trust_remote_code": True}])
@pytest.mark.parametrize("load", [AutoModel.from_pretrained, AnyformerModel.from_pretrained])
def test_code_in_a_folder_is_never_run(folder, tmp_path, load, options):
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: ...\n")
    change_config(folder, set_in("auto_map", {"AutoModel": "evil.Evil", "AutoConfig": "evil.Evil"}))
    with pytest.raises(ModelFileError, match="nothing in a folder is ever run"):
        load(folder, **options)
    assert not (tmp_path / "ran").exists()


def truncate(folder):
    place = folder / "model.safetensors"
    place.write_bytes(place.read_bytes()[:-9])


def link(folder):
    place = folder / "certificate.json"
    place.rename(folder.parent / "elsewhere.json")
    place.symlink_to(folder.parent / "elsewhere.json")


def double_key(folder):
    place = folder / "config.json"
    place.write_text(place.read_text().replace('"dtype"', '"dtype": "float32", "dtype"', 1))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate, "must be a whole safetensors file"),
        (link, "a folder must hold its files itself"),
        (double_key, "the key 'dtype' must be there once"),
        (lambda folder: (folder / "config.json").write_text("[" * 10**5), "must be JSON"),
        (lambda folder: (folder / "config.json").unlink(), "has none"),
        (lambda folder: (folder / "certificate.json").write_text("{}"), "certificate.json: the certificate's field"),
        (lambda folder: (folder / "certificate.json").write_text("\x00"), "the certificate is not JSON"),
        (lambda folder: (folder / "adapter_config.json").write_text("{}"), "must be a whole model"),
    ],
)
def test_a_damaged_folder_is_refused(folder, damage, message):
    damage(folder)
    with pytest.raises(ModelFileError, match=re.escape(message)):
        AnyformerModel.from_pretrained(folder)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "model").write_text("")
    with pytest.raises(ModelFileError, match="must be a folder"):
        AnyformerModel.from_pretrained(tmp_path / "model")


def test_large_masks_are_refused_before_they_are_made(folder, monkeypatch):
    from anyformer.exports.pytorch import parts

    monkeypatch.setattr(parts, "MOST_MASKED", 4 * 4 - 1)
    monkeypatch.setattr(torch, "ones", lambda *_, **__: pytest.fail("it was made"))
    with pytest.raises(AnyformerError, match="must have at most 15 entries in PyTorch; these would have 16"):
        AnyformerModel.from_pretrained(folder)
