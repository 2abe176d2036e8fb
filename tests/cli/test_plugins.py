"""`--plugin` brings a user's own mixers to the verbs that look for mixers by name."""

import json
import sys

import pytest

pytest.importorskip("accelerate", reason="training needs more: pip install anyformer[train]")

from anyformer.errors import MixerError
from tests.mixers.brought import FNET, SCALED, install, only_shipped
from tests.test_house import loaded_after

SMALL = (
    "[architecture]\nlayers = 2\nwidth = 16\nheads = 2\nvocabulary = 400\nlongest = 32\n[text]\ntokens = 16\n"
    "[schedule]\nsteps = 4\nbatch = 4\n"
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A working directory with the file of the page; what it registers and imports is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "fnet.py").write_text(FNET)
    (tmp_path / "scaled_fnet.py").write_text(SCALED)
    (tmp_path / "recipe.toml").write_text(SMALL)
    rows = [f"{k} dogs sleep\t{k} animals {word}\t{word}" for k in range(12) for word in ("sleep", "run")]
    (tmp_path / "pairs.tsv").write_text("\n".join(["premise\thypothesis\tlabel", *rows]))
    before = set(sys.modules)
    with only_shipped():
        yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("fnet", "scaled_fnet", "_anyformer_user_code")):
            del sys.modules[name]


def pretrain(call, *arguments):
    return call("pretrain", "-o", "words", "--recipe", "recipe.toml", "--corpus", "synthetic:sentences=200", *arguments)


def finetune(call, *arguments):
    return call("finetune", "words/model", "-o", "classes", "--pairs", "pairs.tsv", "--epochs", 1, *arguments)


def test_from_a_file_to_a_model_that_is_fine_tuned(call, here):
    made = pretrain(call, "--plugin", "fnet.py", "--mixer", "fnet")
    assert made.code == 0, made.err
    assert json.loads((here / "words/model/config.json").read_text())["mixers"] == [{"kind": "fnet"}] * 2
    tuned = finetune(call, "--plugin", here / "fnet.py")
    assert tuned.code == 0, tuned.err
    with only_shipped():
        alone = call("finetune", "words/model", "-o", "others", "--pairs", "pairs.tsv")
    assert alone.code == 2
    assert "got 'fnet'. A mixer of your own must be registered first: import the module" in alone.err
    assert "or give --plugin on the command line" in alone.err
    assert not (here / "others").exists()
    with only_shipped():
        alone = call("evaluate", "classes/model", "-o", "judged", "--pairs", "pairs.tsv")
    assert alone.code == 2
    assert "or give --plugin on the command line" in alone.err
    judged = call("evaluate", "classes/model", "-o", "judged", "--pairs", "pairs.tsv", "--plugin", "fnet.py")
    assert judged.code == 0, judged.err
    told = call("predict", "classes/model", "-o", "told.jsonl", "--pairs", "pairs.tsv", "--plugin", "fnet.py")
    assert told.code == 0, told.err


def test_a_module_and_sizes_and_several_plugins(call, here):
    (here / "more.py").write_text(FNET.replace('"fnet"', '"more-fnet"').replace("class FNet", "class MoreFNet"))
    made = pretrain(
        *(call, "--plugin", "scaled_fnet", "--plugin", "more.py"),
        *("--mixer", "fnet:scale=0.5", "--mixer", "more_fnet"),
    )
    assert made.code == 0, made.err
    config = json.loads((here / "words/model/config.json").read_text())
    assert config["mixers"] == [{"kind": "fnet", "scale": 0.5}, {"kind": "more-fnet"}]


def test_an_installed_package_needs_no_plugin(call, here, monkeypatch):
    monkeypatch.syspath_prepend(install(here / "site", points="fnet = fnet_inside:FNet", fnet_inside=SCALED))
    assert "cumulative-average, fnet, or one of a --plugin" in " ".join(
        call("pretrain", "--help").out.replace("│", " ").split()
    )
    assert "fnet_inside" not in sys.modules
    made = pretrain(call, "--mixer", "fnet:2")
    assert made.code == 0, made.err
    assert finetune(call).code == 0


def test_without_the_plugin_the_name_is_unknown(call, here):
    made = pretrain(call, "--mixer", "fnet")
    assert made.code == 2
    assert "a mixer must be one of attention" in made.err
    assert "or give --plugin on the command line." in made.err
    assert not (here / "words").exists()


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ("nowhere.py", "'nowhere.py' must name an existing Python file"),
        ("no.such.module", "'no.such.module' must be importable; importing it raised ModuleNotFoundError"),
        ("broken.py", "importing it raised RuntimeError: not today. Fix the code, or name another"),
        ("taken.py", "importing it raised MixerError: a name must stand for one mixer; 'attention' is"),
        ("", "'' must be importable"),
    ],
)
@pytest.mark.parametrize(
    "verb",
    [
        "pretrain -o out",
        "finetune nowhere -o out --pairs pairs.tsv",
        "reproduce mixers -o out --nli pairs.tsv",
        "context nowhere",
        "evaluate nowhere -o out --pairs pairs.tsv",
        "predict nowhere -o out --pairs pairs.tsv",
    ],
)
def test_bad_plugins_are_said_before_anything_is_done(refused, here, verb, plugin, message):
    (here / "broken.py").write_text("raise RuntimeError('not today.')")
    (here / "taken.py").write_text(FNET.replace('"fnet"', '"attention"'))
    said = refused(*verb.split(), "--plugin", plugin)
    assert message in said
    assert "Write path/to/file.py or package.module." in said
    assert not (here / "out").exists()


def test_help_names_the_mixers_without_pytorch(call):
    loaded = loaded_after("from anyformer.cli.main import main; main(['pretrain', '--help'])")
    assert "torch" not in loaded
    said = " ".join(call("pretrain", "--help").out.replace("│", " ").split())
    assert "attention, average, bilinear, convolution, fourier, plain-convolution, sparse-attention, causal-att" in said
    assert "cumulative-average, or one" in said


FAULTY = FNET.replace("return mixed", "return mixed[:, 1:]")
CHEATING = (
    FNET.replace("        return mixed", "        return hidden.roll(-1, dims=1)")
    + "    def causal(self):\n        return self\n"
)


@pytest.mark.parametrize(
    ("source", "task", "message"),
    [
        (
            FAULTY,
            "masked-words",
            "the mixer 'fnet', FNet(), must give a tensor of hidden's shape and type; for (2, 15,",
        ),
        (FNET.replace("return FourierMixing()", "return 1 / 0"), "masked-words", "its build raised ZeroDivisionError"),
        (CHEATING, "next-words", "the mixer 'fnet', FNet(), must let no token see a later one"),
    ],
)
def test_a_faulty_mixer_is_told_before_anything_is_written(refused, here, source, task, message):
    (here / "faulty.py").write_text(source)
    asked = ("--recipe", "recipe.toml", "--plugin", "faulty.py", "--mixer", "fnet", "--task", task)
    said = refused("pretrain", "-o", "words", *asked, "--corpus", "synthetic:sentences=200", kind="MixerError")
    assert message in said
    assert "try check_mixer on it" in said
    assert not (here / "words").exists()


def test_a_comparison_with_a_faulty_mixer_is_not_begun(refused, here):
    (here / "faulty.py").write_text(FAULTY)
    pairs = [f"{k} dogs sleep\t{k} animals {word}\t{word}" for k in range(400) for word in ("sleep", "run")]
    (here / "many.tsv").write_text("\n".join(["premise\thypothesis\tlabel", *pairs]))
    asked = ("--budget", "smoke", "--nli", "many.tsv", "--plugin", "faulty.py", "--mixer", "fnet")
    assert "must give a tensor of hidden's shape and type" in refused(
        "reproduce", "mixers", "-o", "out", *asked, kind="MixerError"
    )
    assert not (here / "out").exists()


def test_a_mixer_that_became_faulty_is_told_when_a_model_is_fine_tuned(call, here):
    assert pretrain(call, "--plugin", "fnet.py", "--mixer", "fnet").code == 0
    (here / "fnet.py").write_text(FNET.replace("return mixed", "raise KeyError('mine')"))
    tuned = finetune(call, "--plugin", "fnet.py")
    assert tuned.code == 2
    assert "FNet(), must give a tensor of hidden's shape and type; it raised KeyError: 'mine'." in tuned.err
    assert not (here / "classes").exists()


def test_the_card_says_what_to_register_first(call, here, monkeypatch):
    assert pretrain(call, "--plugin", "fnet.py", "--mixer", "fnet", "--mixer", "attention").code == 0
    card = (here / "words/model/README.md").read_text()
    assert "Mixers that anyformer does not have: `fnet`. Each must be registered first: import the file" in card
    example = card.split("```python\n")[1].split("```")[0].replace("path/to/this/folder", "words/model")
    assert "\n# import the_file_that_registers_it  # first: fnet; its code is not here\n" in example
    with only_shipped(), pytest.raises(MixerError, match="got 'fnet'"):
        exec(example, {})
    monkeypatch.syspath_prepend(here)
    with only_shipped():
        exec(example.replace("# import the_file_that_registers_it", "import fnet"), {})
