"""Every fault of a folder has a message that names the file and the field."""

import json
import os
import re
import tracemalloc
from dataclasses import replace
from itertools import cycle, islice

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from anyformer.errors import CertificateError, ModelFileError
from anyformer.exports import config_fields, load_folder
from anyformer.exports import folder as folder_module
from anyformer.model import Model
from anyformer.networks.digest import digest


def refused(folder, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        load_folder(folder)
    return caught.value


def edit(path, change):
    """Change a JSON file in place."""
    data = json.loads(path.read_text())
    result = change(data)
    path.write_text(json.dumps(data if result is None else result))


def set_field(data, path, value):
    *outer, last = path
    for key in outer:
        data = data[key]
    if value is ...:
        del data[last]
    else:
        data[last] = value


# The folder.


def test_no_folder(tmp_path):
    refused(tmp_path / "model", "model must be a model's folder; there is none. Check the path")
    refused(tmp_path / "no" / "model", "there is none. Check the path")
    refused(tmp_path / "nul\0", "there is none. Check the path")


def test_a_file(saved):
    refused(saved / "config.json", "must be a model's folder; it is a file. Name the folder that the file is in")


def test_an_interrupted_save_is_mentioned(saved):
    saved.rename(saved.parent / ".model.partial-1")
    refused(
        saved, r"a save that was interrupted has left .model.partial-1 beside it.*give that folder the model's name"
    )


@pytest.mark.parametrize("name", [".model.partial-1", "model.partial-1"])
def test_a_partial_folder(saved, monkeypatch, name):
    partial = saved.rename(saved.parent / name)
    (saved.parent / "link").symlink_to(partial)
    refused(partial, "must not have '.partial-' in its name")
    refused(saved.parent / "link", "must not have '.partial-' in its name")
    monkeypatch.chdir(partial)
    refused(folder_module.Path("."), "must not have '.partial-' in its name")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "certificate.json"])
def test_a_file_is_missing(saved, name):
    (saved / name).unlink()
    refused(saved, f"must hold the files .*; {name} is missing or not a file")
    os.mkfifo(saved / name)
    refused(saved, f"must hold the files .*; {name} is missing or not a file")


@pytest.mark.parametrize("name", ["config.json", "certificate.json"])
def test_a_file_too_large_is_not_read(saved, name):
    with open(saved / name, "r+b") as file:
        file.truncate(256 * 2**20 + 1)
    tracemalloc.start()
    try:
        refused(saved, f"{name} must have at most 268435456 bytes; it has 268435457")
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "certificate.json"])
def test_no_permission(saved, name):
    (saved / name).chmod(0)
    if os.access(saved / name, os.R_OK):
        pytest.skip("the administrator may read anything")
    refused(saved, "Permission denied")


def test_a_disk_that_fails(saved, monkeypatch):
    def failing(_):
        raise OSError("the disk is on fire")

    monkeypatch.setattr(folder_module, "_read_text", failing)
    error = refused(saved, "could not read the model in .*model: the disk is on fire. Fix the cause")
    assert isinstance(error.__cause__, OSError)


def replaced_while_read(monkeypatch, folder, models):
    """Let another model take the place of the folder between the reading of one file and of the next."""
    read = folder_module.read_network

    def replaced_meanwhile(path, config):
        for model in islice(models, 1):
            model.save(folder, overwrite=True)
        return read(path, config)

    monkeypatch.setattr(folder_module, "read_network", replaced_meanwhile)


@pytest.mark.parametrize("alike", [True, False])
def test_a_folder_replaced_while_it_is_read_is_read_again(models, saved, monkeypatch, alike):
    other = with_other_positions(models[1]) if alike else models[0]
    replaced_while_read(monkeypatch, saved, iter([other]))
    network, certificate = load_folder(saved)
    assert digest(network) == certificate.weights_digest == other.certificate.weights_digest


def with_other_positions(model):
    """A model that cannot be told from the one given by names and shapes."""
    network = replace(model.network, positional_encoding=model.network.positional_encoding + 1)
    return Model(network, replace(model.certificate, weights_digest=digest(network)))


def test_a_folder_replaced_again_and_again_is_not_read(models, saved, monkeypatch):
    replaced_while_read(monkeypatch, saved, cycle([models[0], models[1]]))
    refused(saved, "must stay the same while it is read; it is being replaced. Load it again later")


# config.json.


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "config.json must be JSON; got Expecting value"),
        (b'{"format"', "config.json must be JSON"),
        (b"[" * 10_000, "config.json must be JSON"),
        (b"7" * 10_000, "config.json must be JSON; got .*digits"),
        (b"\xff\xfe", "config.json must be JSON in UTF-8; got 'utf-8' codec"),
        (b"[1, 2]", r"config.json must be a JSON object; got \[1, 2\]"),
        (b"null", "config.json must be a JSON object; got None"),
        (b"{}", "config.json: format must be 'anyformer-model-2', the one this version reads; got nothing"),
    ],
)
def test_a_config_that_is_no_config(saved, content, message):
    (saved / "config.json").write_bytes(content)
    refused(saved, message)


SIZE = r"must be a whole number from \d to \d+; got"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "anyformer-model-3", "format must be 'anyformer-model-2'.*got 'anyformer-model-3'"),
        (
            ["format"],
            "anyformer-model-1",
            "format must be 'anyformer-model-2'; it is 'anyformer-model-1'.*Build the model",
        ),
        (["format"], 1, "format must be 'anyformer-model-2'.*got 1"),
        (["tokens"], ..., f"tokens {SIZE} nothing"),
        (["tokens"], 1, "tokens must be a whole number from 2 to .*; got 1"),
        (["tokens"], True, f"tokens {SIZE} True"),
        (["tokens"], 2.0, f"tokens {SIZE} 2.0"),
        (["tokens"], "2", f"tokens {SIZE} '2'"),
        (["tokens"], None, f"tokens {SIZE} None"),
        (["tokens"], 2**40, "tokens must be at most 4096 together with width, one times the other; got 1099511627776"),
        (["width"], 0, f"width {SIZE} 0"),
        (["width"], True, f"width {SIZE} True"),
        (["heads"], -1, f"heads {SIZE} -1"),
        (["heads"], ..., f"heads {SIZE} nothing"),
        (["head_size"], [1], rf"head_size {SIZE} \[1\]"),
        (["hidden_size"], {}, f"hidden_size {SIZE} {{}}"),
        pytest.param(["hidden_size"], 10**300, rf"hidden_size {SIZE} 1000\d*\.\.\.\d*\. Restore", id="huge"),
        (["positional_encoding"], ..., "positional_encoding must be true or false; got nothing"),
        (["positional_encoding"], 1, "positional_encoding must be true or false; got 1"),
        (["stages"], ..., "stages must be a list of at least one stage; got nothing"),
        (["stages"], [], r"stages must be a list of at least one stage; got \[\]"),
        (["stages"], {"0": {}}, "stages must be a list of at least one stage; got {'0'"),
        (["stages", 1], "attention", r"stages\[1\] must be a JSON object; got 'attention'"),
        (
            ["stages", 1, "kind"],
            "convolution",
            r"stages\[1\].kind must be one of 'attention', 'feed_forward'; got 'con",
        ),
        (["stages", 1, "kind"], ["attention"], r"stages\[1\].kind must be one of .*; got \['attention'\]"),
        (["stages", 1, "kind"], ..., r"stages\[1\].kind must be one of .*; got nothing"),
        (["stages", 1, "name"], 5, r"stages\[1\].name must be a string of at most 200 characters; got 5"),
        (["stages", 1, "name"], "n" * 201, r"stages\[1\].name must be a string of at most 200 characters; got 'nnn"),
        (["stages", 1, "name"], ..., r"stages\[1\].name must be a string .*; got nothing"),
        (["stages", 1, "layers"], 0, rf"stages\[1\].layers {SIZE} 0"),
        (["stages", 1, "layers"], False, rf"stages\[1\].layers {SIZE} False"),
        (["stages", 1, "layers"], ..., rf"stages\[1\].layers {SIZE} nothing"),
        (
            ["stages", 1, "activation"],
            "gelu",
            r"stages\[1\].'activation' must not be there, the fields are name, role, kind",
        ),
        (["causal"], True, r"'causal' must not be there, the fields are format, tokens"),
    ],
)
def test_a_field_of_the_config(saved, path, value, message):
    edit(saved / "config.json", lambda data: set_field(data, path, value))
    refused(saved, f"config.json: {message}")


def test_a_message_stays_short_whatever_the_file_says(saved):
    edit(saved / "config.json", lambda data: set_field(data, ["tokens"], "x" * 10**6))
    assert len(str(refused(saved, "tokens must be"))) < 1000


def test_names_are_only_text(saved):
    names = ["../../etc", "same", "same", "\0\x1b[31m", "\ud800", ""]

    def rename(data):
        for stage, name in zip(data["stages"], names, strict=False):
            stage["name"] = name

    edit(saved / "config.json", rename)
    edit(saved / "certificate.json", lambda data: set_field(data, ["target", "name"], names[3]))
    network, certificate = load_folder(saved)
    assert [stage.name for stage in network.stages] == names
    assert certificate.target.name == names[3]
    assert "\x1b" not in repr(Model(network, certificate))


def test_too_many_stages(saved, monkeypatch):
    monkeypatch.setattr(config_fields, "MAX_STAGES", 5)
    refused(saved, "config.json: stages must be at most 5 stages; got 6")


def test_a_million_stages_is_the_limit():
    assert config_fields.MAX_STAGES == 1_000_000


# model.safetensors.


def rewrite(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize("name", ["stages.0.W_1", "stages.1.b_Q", "stages.5.b_2", "positional_encoding"])
def test_a_tensor_is_missing(saved, name):
    # Something else makes up for the bytes, or their number would be noticed first.
    rewrite(saved, lambda tensors: tensors.update(other=tensors.pop(name)))
    refused(saved, f"model.safetensors must hold the tensor {re.escape(name)}, which config.json describes")


def test_a_tensor_too_many(saved):
    rewrite(saved, lambda tensors: tensors.update({"stages.6.W_1": np.zeros(3), "a\nb": np.zeros(2)}))
    refused(saved, r"must hold no tensor that config.json does not describe; got 'a\\nb'")


def test_positions_that_the_config_does_not_mention(saved):
    edit(saved / "config.json", lambda data: set_field(data, ["positional_encoding"], False))
    refused(saved, "must hold no tensor that config.json does not describe; got 'positional_encoding'")


@pytest.mark.parametrize(("dtype", "name"), [(np.float32, "F32"), (np.int64, "I64"), (np.complex64, "C64")])
def test_a_tensor_of_another_type(saved, dtype, name):
    def change(tensors):
        tensors["stages.0.W_1"] = tensors["stages.0.W_1"].astype(dtype)

    rewrite(saved, change)
    refused(saved, rf"model.safetensors: stages.0.W_1 must have dtype float64 \(F64\), by config.json; got {name}")


def test_a_tensor_of_another_shape(saved):
    def change(tensors):
        tensors["stages.1.W_O"] = tensors["stages.1.W_O"].swapaxes(0, 1).copy()

    rewrite(saved, change)
    refused(saved, r"stages.1.W_O must have shape \(4, 2, 1, 1\), by config.json; got \(2, 4, 1, 1\)")


def test_layers_of_one_stage_that_differ_in_number(saved):
    def change(tensors):
        tensors["stages.1.b_Q"] = np.zeros((5, 2, 1))

    rewrite(saved, change)
    refused(saved, r"stages.1.b_Q must have shape \(4, 2, 1\), by config.json; got \(5, 2, 1\)")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_tensor_that_is_not_finite(saved, value):
    def change(tensors):
        tensors["stages.1.W_Q"] = tensors["stages.1.W_Q"].copy()
        tensors["stages.1.W_Q"][3, 1, 0, 0] = value

    rewrite(saved, change)
    refused(saved, rf"model.safetensors: stages.1.W_Q must be finite; got {value} at index \(3, 1, 0, 0\)")


def test_positions_that_are_not_finite(saved):
    rewrite(saved, lambda tensors: tensors.update(positional_encoding=np.array([[0.0], [np.nan]])))
    refused(saved, r"model.safetensors: positional_encoding must be finite; got nan at index \(1, 0\)")


def test_a_config_that_claims_more_than_the_file_has(saved):
    edit(saved / "config.json", lambda data: set_field(data, ["stages", 0, "layers"], 2**40))
    there = (saved / "model.safetensors").stat().st_size
    refused(saved, rf"model.safetensors must hold the \d+ bytes of tensors that config.json.*it has {there} bytes")


def test_a_file_that_is_no_safetensors(saved):
    path = saved / "model.safetensors"
    path.write_bytes(b"\x80\x04" * path.stat().st_size)
    refused(saved, "model.safetensors must be a whole safetensors file; got")


# certificate.json.


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "the certificate is not JSON"),
        (b"[]", "top level must be a JSON object"),
        (b"[" * 10_000, "the certificate is not JSON"),
        (b"7" * 10_000, "digits"),
        (b"\xff", "must be JSON in UTF-8"),
        (b'{"format": "x"}', "the certificate's format must be"),
    ],
)
def test_a_certificate_that_is_none(saved, content, message):
    (saved / "certificate.json").write_bytes(content)
    refused(saved, rf"certificate.json:? .*{message}")


def test_a_fault_in_the_certificate_keeps_its_cause(saved):
    edit(saved / "certificate.json", lambda data: set_field(data, ["p"], 2.0))
    error = refused(saved, "certificate.json: the certificate's field p must be a str; got float")
    assert isinstance(error.__cause__, CertificateError)


@pytest.mark.parametrize(("field", "value"), [("tokens", 3), ("width", 2)])
def test_a_certificate_of_another_network(saved, field, value):
    edit(saved / "certificate.json", lambda data: set_field(data, ["target", field], value))
    refused(saved, rf"certificate.json: target.{field} must be \d, as in the network's config; got {value}")


def test_the_digest_is_left_to_the_checker(saved):
    edit(saved / "certificate.json", lambda data: set_field(data, ["weights_digest"], "0" * 64))
    assert load_folder(saved)[1].weights_digest == "0" * 64
