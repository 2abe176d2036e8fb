"""Files damaged at random or on purpose: either they are refused, or what is loaded is sound."""

import json
import shutil
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import load_file

from anyformer.certificates import Certificate
from anyformer.errors import ModelFileError
from anyformer.exports import load_folder
from anyformer.networks.layers import weights


def loads_soundly_or_is_refused(folder):
    """Whether it loads; fails on any error but ours, on numbers that are not finite, on shapes not of the config."""
    try:
        network, certificate = load_folder(folder)
    except ModelFileError:
        return False
    config = json.loads((folder / "config.json").read_text())
    sizes = {"heads": network.shape.heads, "head_size": network.shape.head_size, "width": network.width}
    sizes |= {"hidden_size": network.shape.hidden_size, "tokens": network.tokens}
    assert all(config[name] == size for name, size in sizes.items())
    # What stages see of a token; a stage may have other sizes than the largest block.
    sizes["width"] = config.get("stream_width", network.width)
    for entry, stage in zip(config["stages"], network.stages, strict=True):
        for name, array in weights(stage).items():
            assert array.shape == tuple((sizes | entry)[axis] for axis in stage.AXES[name])
            assert np.isfinite(array).all()
    assert isinstance(certificate, Certificate)
    return True


@pytest.fixture(params=["table", "program"])
def any_kind(request, originals, tmp_path):
    """A copy of the folder of a positional model of either kind, to be damaged."""
    return shutil.copytree(originals[1 if request.param == "table" else 4], tmp_path / "model")


def test_the_judge_accepts_what_is_sound(any_kind):
    assert loads_soundly_or_is_refused(any_kind)


@pytest.mark.parametrize("which", range(6))
def test_truncated_tensors(originals, tmp_path, which):
    folder = shutil.copytree(originals[which], tmp_path / "model")
    whole = (folder / "model.safetensors").read_bytes()
    lengths = np.random.default_rng(which).integers(0, len(whole), 50)
    for length in {0, 7, 8, 9, len(whole) - 1, *lengths.tolist()}:
        (folder / "model.safetensors").write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"model\.safetensors must"):
            load_folder(folder)


@pytest.mark.parametrize("name", ["config.json", "certificate.json"])
def test_truncated_json(any_kind, name):
    whole = (any_kind / name).read_bytes().rstrip()
    for length in np.random.default_rng(5).integers(0, len(whole), 50):
        (any_kind / name).write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=name):
            load_folder(any_kind)


def header_length(content):
    return 8 + int.from_bytes(content[:8], "little")


@pytest.mark.parametrize("name", ["config.json", "certificate.json", "model.safetensors"])
@pytest.mark.parametrize("flips", [1, 3])
def test_flipped_bytes(any_kind, name, flips):
    whole = (any_kind / name).read_bytes()
    end = header_length(whole) if name == "model.safetensors" else len(whole)
    rng = np.random.default_rng([flips, len(name)])
    loaded = 0
    for _ in range(200):
        damaged = bytearray(whole)
        for where in rng.integers(0, end, flips):
            damaged[where] ^= int(rng.integers(1, 256))
        (any_kind / name).write_bytes(damaged)
        loaded += loads_soundly_or_is_refused(any_kind)
    assert loaded < 200


def test_changed_characters(any_kind):
    """Digits for digits and letters for letters: damage that stays JSON and gets further."""
    rng = np.random.default_rng(3)
    for name in ("config.json", "certificate.json", "model.safetensors"):
        whole = (any_kind / name).read_bytes()
        end = header_length(whole) if name == "model.safetensors" else len(whole)
        places = [k for k in range(8 if name == "model.safetensors" else 0, end) if chr(whole[k]).isalnum()]
        for where in rng.choice(places, 100):
            damaged = bytearray(whole)
            damaged[where] = ord(rng.choice(list("0123456789abcdefxpEN")))
            (any_kind / name).write_bytes(damaged)
            loads_soundly_or_is_refused(any_kind)
        (any_kind / name).write_bytes(whole)
    assert loads_soundly_or_is_refused(any_kind)


def test_a_certificate_field_of_any_other_kind(any_kind):
    path = any_kind / "certificate.json"
    whole = json.loads(path.read_text())
    strange = [None, True, -1, 10**400, "nan", "0x1p99999", [[[]]], {"kind": []}]
    for holder, key in fields(whole):
        kept = holder[key]
        for value in strange:
            holder[key] = value
            path.write_text(json.dumps(whole))
            loads_soundly_or_is_refused(any_kind)
        holder[key] = kept


def fields(data):
    """Every place in a JSON value, as its holder and key."""
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from fields(data[key])


def with_header(path, change):
    """Change a safetensors header and keep the data."""
    content = path.read_bytes()
    end = header_length(content)
    header = json.loads(content[8:end])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[end:])


HUGE = [2**40, 1, 1]


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": HUGE, "data_offsets": [0, 8 * 2**40]},
        {"dtype": "F64", "shape": HUGE, "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [2**63, 2**63, 8], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [2**40, 0, 1], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [-1, 4, 1], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [10**30], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [4, 4, 1], "data_offsets": [64, 0]},
        {"dtype": "object", "shape": [4, 4, 1], "data_offsets": [0, 128]},
        {"dtype": "BF16", "shape": [4, 4, 4], "data_offsets": [0, 128]},
        {"shape": []},
        None,
    ],
)
@pytest.mark.parametrize("layers", [4, 2**40])
def test_a_hostile_header_does_not_make_us_allocate(saved, entry, layers):
    with_header(saved / "model.safetensors", lambda header: header.update({"stages.0.W_1": entry}))
    config = json.loads((saved / "config.json").read_text())
    config["stages"][0]["layers"] = layers
    (saved / "config.json").write_text(json.dumps(config))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=r"model\.safetensors"):
            load_folder(saved)
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("length", [0, 1, 2**31, 2**63, 2**64 - 1])
def test_a_hostile_header_length(saved, length):
    path = saved / "model.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
    with pytest.raises(ModelFileError, match=r"model\.safetensors"):
        load_folder(saved)


def test_tensors_that_share_their_bytes(saved):
    """Overlapping tensors would let a small file stand for a large network."""

    def overlap(header):
        header["stages.0.W_1"]["data_offsets"] = header["stages.0.W_2"]["data_offsets"]

    assert load_file(saved / "model.safetensors")["stages.0.W_1"].size == 4 * 4
    with_header(saved / "model.safetensors", overlap)
    with pytest.raises(ModelFileError, match=r"model\.safetensors must be a whole safetensors file"):
        load_folder(saved)
