"""Folders that somebody made to harm: their code never runs, and nothing outside of them is read."""

import contextlib
import json
import os
import shutil

import pytest

pytest.importorskip("accelerate", reason="training needs more: pip install anyformer[train]")

import torch

from anyformer.errors import AnyformerError, TrainingError
from anyformer.mixers import Average, Bilinear
from anyformer.mixers.bert import MixerBertConfig, MixerBertForMaskedLM
from anyformer.training import SyntheticLanguage, finetune, read_pairs
from anyformer.training.data.vocabulary import load_tokenizer, train_tokenizer


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A model of two layers with its tokenizer."""
    place = tmp_path_factory.mktemp("sound") / "model"
    tokenizer = train_tokenizer(SyntheticLanguage(sentences=200), 300)
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
    config = MixerBertConfig(
        vocab_size=len(tokenizer), max_position_embeddings=20, mixers=[Average(), Bilinear(20)], **sizes
    )
    MixerBertForMaskedLM(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture
def model(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "model")


@pytest.fixture
def pairs(tmp_path):
    place = tmp_path / "pairs.tsv"
    rows = [f"{number} a dog\tan animal\t{'ab'[number % 2]}" for number in range(12)]
    place.write_text("\n".join(["premise\thypothesis\tlabel", *rows]))
    return place


@pytest.fixture
def tuned(pairs, tmp_path):
    def tune(model):
        read = read_pairs(pairs)
        return finetune(model, read, read, tmp_path / "run", epochs=0.1)

    return tune


def told(place, **entries):
    place.write_text(json.dumps({**(json.loads(place.read_text()) if place.exists() else {}), **entries}))


def test_a_sound_folder_is_taken(model, tuned):
    assert tuned(model).is_complete


EVIL = "import pathlib\npathlib.Path({marker!r}).touch()\nclass Evil:\n    pass\n"


@pytest.mark.slow
@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json"])
def test_code_in_a_folder_never_runs_and_nobody_is_asked(process, model, pairs, tmp_path, file):
    marker = tmp_path / "it ran"
    (model / "evil.py").write_text(EVIL.format(marker=str(marker)))
    auto = {"AutoTokenizer": [None, "evil.Evil"], "AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}
    told(model / file, auto_map=auto, tokenizer_class="Evil")
    told(model / "tokenizer_config.json", tokenizer_class="Evil")
    if file == "tokenizer_config.json":
        asked = ["pretrain", "--tokenizer", model, "--corpus", "synthetic:sentences=100"]
    else:
        asked = ["finetune", model, "--pairs", pairs]
    for answers in ("", "y\ny\ny\n"):
        done = process(*asked, "-o", tmp_path / "out", answers=answers)
        assert done.code == 2
        assert done.told.startswith("error: ")
        assert f"{file} must not name code" in done.told
        assert "auto_map" in done.told
        assert "[y/N]" not in done.told
        assert not marker.exists()


def outside(model):
    secret = model.parent / "secret.safetensors"
    (model / "model.safetensors").rename(secret)
    return secret


@pytest.mark.parametrize("name", ["../secret.safetensors", "{absolute}", "sub/../../secret.safetensors", "", 3, ["x"]])
def test_an_index_names_files_of_its_folder_only(model, tuned, name):
    secret = outside(model)
    name = name.format(absolute=secret) if isinstance(name, str) else name
    told(model / "model.safetensors.index.json", metadata={}, weight_map={"bert.pooler.dense.weight": name})
    with pytest.raises(TrainingError, match=r"index\.json must name files of its own folder; got"):
        tuned(model)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_links_out_of_a_folder_are_refused(model, tuned, name):
    moved = model.parent / "elsewhere"
    (model / name).rename(moved)
    (model / name).symlink_to(moved)
    with pytest.raises(TrainingError, match=r"must hold its files itself; .* is a link to"):
        tuned(model)


def test_a_pipe_is_refused(model, tuned):
    (model / "config.json").unlink()
    os.mkfifo(model / "config.json")
    with pytest.raises(TrainingError, match=r"config\.json is none\. Remove it"):
        tuned(model)


class Marks:
    """Pickled, it makes a file when it is read."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return open, (self.place, "w")


def test_pickled_weights_are_never_read(model, tuned, tmp_path):
    (model / "model.safetensors").unlink()
    marker = tmp_path / "unpickled"
    torch.save({"x": Marks(str(marker))}, model / "pytorch_model.bin")
    with pytest.raises(TrainingError, match=r"must be safetensors; .* pytorch_model\.bin is pickled"):
        tuned(model)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"num_hidden_layers": 2**40}, "num_hidden_layers in .* must be the layers that have weights, 2; got 1099"),
        ({"num_labels": 2**40}, "num_labels in .* must be at most the number of weights"),
        ({"vocab_size": 2**40}, "vocab_size in .* must be at most"),
        ({"mixers": [{"kind": "average"}, {"kind": "bilinear", "max_length": 2**40}]}, r"mixers\.1\.max_length in"),
        ({"mixers": [{"kind": "average"}, {"kind": "bilinear", "max_length": 4000}]}, "max_length must be at most 20"),
        ({"intermediate_size": 3000}, r"asks for 105\d*, and there are 40"),
        ({"mixers": [{"kind": []}] * 2}, "a mixer must be one of"),
        ({"attn_implementation": "somebody/kernel"}, "must not name code on the hub"),
        ({"transformers_weights": "../x.safetensors"}, "must not name other weights"),
        ({"model_type": ["bert"]}, "must be of one of the types"),
    ],
)
def test_a_config_asks_for_no_more_than_is_there(model, tuned, entries, message):
    told(model / "config.json", **entries)
    with pytest.raises(TrainingError, match=message):
        tuned(model)


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_a_key_twice_is_refused(model, tuned, file):
    text = (model / file).read_text().lstrip()[1:]
    (model / file).write_text('{"version": "1.0", "version": "1.0", ' + text)
    with pytest.raises(TrainingError, match="'version' must be there once"):
        tuned(model)


@pytest.mark.parametrize(
    "entries", [{"fast_tokenizer_files": ["../tokenizer.1.0.json"]}, {"vocab_file": "/etc/hostname"}]
)
def test_a_tokenizer_names_files_of_its_folder_only(model, entries):
    told(model / "tokenizer_config.json", **entries)
    with pytest.raises(TrainingError, match="must name files of its own folder"):
        load_tokenizer(model)


def test_what_libraries_say_of_a_tokenizer_does_not_reach_the_terminal(model, capfd):
    told(model / "tokenizer_config.json", tokenizer_class="\x1b[31mEvil")
    with contextlib.suppress(AnyformerError):
        load_tokenizer(model)
    assert "\x1b" not in "".join(capfd.readouterr())
