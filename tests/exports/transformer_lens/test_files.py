"""A model in TransformerLens as a folder: it comes back to the bit, and damaged folders raise a clear error."""

import json
import os
import random
import shutil
import struct
from contextlib import suppress

import numpy as np
import pytest

from anyformer.cli.main import main
from anyformer.errors import AnyformerError, ExportError, ModelFileError
from anyformer.labels import labels_of
from tests.fuzzing import damaged_bytes, damaged_json

pytest.importorskip("transformer_lens")
torch = pytest.importorskip("torch")

from anyformer.exports.transformer_lens import load_transformer_lens, to_transformer_lens, write  # noqa: E402

FILES = {"config.json", "model.safetensors", "certificate.json"}
ALL_FILES = FILES | {"labels.json"}


@pytest.fixture(scope="module")
def model(compiled_models):
    """With positions, and more than one block."""
    return compiled_models[1]


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    """What is written of it, not to be touched."""
    return write(model, tmp_path_factory.mktemp("lens") / "new" / "bridge")


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "bridge")


def test_what_is_written_comes_back_to_the_bit(model, folder):
    assert {path.name for path in folder.iterdir()} == ALL_FILES
    x = np.random.default_rng(4).uniform(0, 1, (5, model.network.tokens, model.network.width))
    back, made = load_transformer_lens(folder), to_transformer_lens(model)
    assert torch.equal(back(x), made(x))
    assert (back.sizes, back.hooks, back.dtype) == (made.sizes, made.hooks, made.dtype)
    assert back.certificate.to_json() == model.certificate.to_json()
    assert back.labels.to_json() == made.labels.to_json() == labels_of(model).to_json()
    assert back.described().keys() == made.described().keys()
    for name, tensor in made.bridge.state_dict().items():
        assert torch.equal(back.bridge.state_dict()[name], tensor)


def test_the_digest_of_the_network_travels_with_the_tensors(model, folder):
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        assert file.metadata()["weights_digest"] == model.certificate.weights_digest


def test_what_is_there_is_replaced_only_when_asked(model, compiled_models, copy):
    with pytest.raises(ModelFileError, match=r"holds an export\. Pass overwrite"):
        write(model, copy)
    write(compiled_models[0], copy, overwrite=True)
    assert load_transformer_lens(copy).sizes.n_ctx == compiled_models[0].network.tokens


def test_what_is_not_ours_is_never_replaced(model, copy, tmp_path):
    (copy / "notes.txt").write_text("mine")
    with pytest.raises(ModelFileError, match=r"it also holds .notes\.txt.\. Nothing was changed"):
        write(model, copy, overwrite=True)
    (copy / "notes.txt").unlink()
    (copy / "config.json").write_text("{}")
    with pytest.raises(ModelFileError, match=r"config.json is missing or not ours"):
        write(model, copy, overwrite=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ModelFileError, match="must be a folder or not exist"):
        write(model, tmp_path / "file", overwrite=True)
    os.symlink(copy, tmp_path / "link")
    with pytest.raises(ModelFileError, match="must be a folder or not exist"):
        write(model, tmp_path / "link", overwrite=True)


def change(copy, **values):
    data = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**data, **values}))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format": "other"}, "must be a JSON object of the format 'anyformer-transformer-lens-1'"),
        ({"more": 1}, "with the fields format, dtype, sizes, blocks"),
        ({"dtype": "float16"}, "dtype must be one of float64, float32; got 'float16'"),
        ({"dtype": "float32"}, "must be F32 of shape"),
        ({"sizes": {}}, "sizes must have d_head, d_mlp, d_model"),
        ({"blocks": []}, "blocks must be a list with an entry for each of the"),
    ],
)
def test_a_wrong_config_is_named(copy, values, message):
    change(copy, **values)
    with pytest.raises(ModelFileError, match=message):
        load_transformer_lens(copy)


@pytest.mark.parametrize("size", [0, -1, 2**40, 1.0, True, "3", None])
def test_sizes_must_be_whole_numbers(copy, size):
    data = json.loads((copy / "config.json").read_text())
    change(copy, sizes={**data["sizes"], "d_model": size})
    with pytest.raises(ModelFileError, match=r"d_model must be a whole number from 1 up|must hold the"):
        load_transformer_lens(copy)


def test_depth_and_size_are_refused_before_anything_is_allocated(copy):
    data = json.loads((copy / "config.json").read_text())
    blocks = data["blocks"] * 65
    change(copy, sizes={**data["sizes"], "n_layers": len(blocks)}, blocks=blocks)
    with pytest.raises(ExportError, match="at most 128 blocks"):
        load_transformer_lens(copy)
    change(copy, sizes={**data["sizes"], "d_mlp": 2**30}, blocks=data["blocks"])
    with pytest.raises(ModelFileError, match=r"bytes of tensors that config\.json describes; it has"):
        load_transformer_lens(copy)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_missing_file_is_named(copy, name):
    (copy / name).unlink()
    with pytest.raises(ModelFileError, match=f"{name} is missing or not a file"):
        load_transformer_lens(copy)


def test_a_certificate_of_another_size_is_refused(copy, compiled_models):
    (copy / "certificate.json").write_text(json.dumps(compiled_models[2].certificate.to_json()))
    with pytest.raises(ModelFileError, match=r"must speak of 3 tokens of width 1.*it speaks of 2 of width 2"):
        load_transformer_lens(copy)


def test_labels_of_another_model_are_refused(copy, compiled_models):
    labels_of(compiled_models[0]).save(copy / "labels.json")
    with pytest.raises(ModelFileError, match=r"labels\.json must be the labels of this model"):
        load_transformer_lens(copy)


def test_without_labels_a_folder_is_whole(copy):
    (copy / "labels.json").unlink()
    assert load_transformer_lens(copy).labels is None


def test_a_tensor_that_is_not_finite_is_refused(copy):
    content = bytearray((copy / "model.safetensors").read_bytes())
    content[-8:] = struct.pack("<d", float("nan"))
    (copy / "model.safetensors").write_bytes(bytes(content))
    with pytest.raises(ModelFileError, match="must be finite"):
        load_transformer_lens(copy)


@pytest.mark.parametrize("seed", range(80))
def test_damaged_folders_do_nothing_but_raise(folder, tmp_path, seed):
    draw = random.Random(seed)
    copy = shutil.copytree(folder, tmp_path / "bridge")
    path = copy / sorted(ALL_FILES)[seed % 4]
    if path.suffix == ".json" and draw.randrange(3):
        path.write_text(damaged_json(path.read_text(), draw), encoding="utf-8", errors="surrogatepass")
    else:
        path.write_bytes(damaged_bytes(path.read_bytes(), draw))
    with suppress(AnyformerError):
        lens = load_transformer_lens(copy)
        if lens.labels is not None:
            lens.described()


def test_from_the_command_line(model, tmp_path, capsys):
    saved = model.save(tmp_path / "model")
    options = ["export", str(saved), "--format", "transformer-lens", "-o", str(tmp_path / "out")]
    assert main(options) == 0
    assert "weights for TransformerLens written to" in capsys.readouterr().out
    assert load_transformer_lens(tmp_path / "out").labels.to_json() == labels_of(model).to_json()
    assert main(options) == 2
    assert "Pass overwrite to replace it" in capsys.readouterr().err
    assert main([*options, "--overwrite"]) == 0
