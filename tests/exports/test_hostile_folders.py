"""Model folders from anybody, taken away: every format and every runtime either works or says in a line why not."""

import json
import shutil

import pytest

from anyformer.cli.main import main
from anyformer.exports.formats import FORMATS
from tests.fuzzing import damaged_json

TRICKS = "x\x1b[2J[bold red]\u202eevil\nerror: all is well"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("hostile") / "model"
    asked = ["build", "mean-scale", "--tokens", "3", "--epsilon", "0.01", "--p", "inf", "--dtype", "float32"]
    assert main([*asked, "-o", str(place)]) == 0
    return place


def exported(model, name, place, capsys):
    out = place / (f"{name}.onnx" if name == "onnx" else name)
    more = ["--instances", "2"] if name == "vnnlib" else []
    return said(["export", str(model), "--format", name, "-o", str(out), "--overwrite", *more], capsys), out


def said(arguments, capsys):
    """The exit code; what is printed plays no tricks on a terminal, and an error is one line."""
    code = main(arguments)
    out, err = capsys.readouterr()
    assert not set("\x1b\u202e\r") & set(out + err)
    assert "\nerror: all is well" not in out + err
    if code == 2:
        assert err.startswith("error: ")
        assert err.count("\n") == 1
    return code


@pytest.mark.parametrize("name", FORMATS)
def test_the_undamaged_folder_goes_everywhere(folder, tmp_path, capsys, name):
    code, out = exported(folder, name, tmp_path, capsys)
    assert code == 0
    assert out.exists()


@pytest.mark.parametrize("seed", range(12))
def test_damaged_folders_do_nothing_but_raise(folder, tmp_path, capsys, seed):
    import random

    draw = random.Random(seed)
    model = shutil.copytree(folder, tmp_path / "model")
    name = draw.choice(("config.json", "certificate.json"))
    (model / name).write_text(damaged_json((model / name).read_text(), draw))
    for form in FORMATS:
        code, out = exported(model, form, tmp_path, capsys)
        assert code in (0, 1, 2)
        assert code == 0 or not out.exists(), "nothing is left of what was refused"
    assert said(["parity", str(model), "--measured-only", "--inputs", "2"], capsys) in (0, 1, 2)


def test_strings_of_a_folder_are_shown_as_text(folder, tmp_path, capsys):
    model = shutil.copytree(folder, tmp_path / "model")
    config = json.loads((model / "config.json").read_text())
    config["stages"][0]["name"] = TRICKS
    (model / "config.json").write_text(json.dumps(config))
    certificate = json.loads((model / "certificate.json").read_text())
    certificate["target"].update(name=TRICKS, ready_made=False)
    (model / "certificate.json").write_text(json.dumps(certificate))
    for form in FORMATS:
        exported(model, form, tmp_path, capsys)
    said(["parity", str(model), "--measured-only", "--inputs", "2"], capsys)
    card = tmp_path / "huggingface" / "README.md"
    if card.exists():
        assert not set("\x1b\u202e") & set(card.read_text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["export", "{model}", "--format", "tensorflow", "-o", "{out}"],
            "the format must be one of torch, huggingface",
        ),
        (["export", "{model}", "--format", "torch", "-o", "{out}", "--seed", "1"], "the format torch takes no options"),
        (["export", "{model}", "--format", "vnnlib", "-o", "{out}", "--instances", "0"], "instances must be"),
        (["export", "{model}", "--format", "onnx", "-o", "{out}"], "must end in .onnx"),
        (["zoo", "get", "mean-scales-3", "-o", "{out}"], "Did you mean"),
        (["zoo", "get", "sort-16", "--dtype", "float32", "-o", "{out}"], "float32"),
    ],
)
def test_a_wrong_request_is_refused_in_words(folder, tmp_path, capsys, arguments, message):
    out = tmp_path / "out"
    code = main([one.format(model=folder, out=out) for one in arguments])
    assert code == 2
    assert message in capsys.readouterr().err
    assert not out.exists()
