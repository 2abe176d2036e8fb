"""Commands that the README and the docs show without their output: each is run, or at least could be.

Commands of a page are run in their order, in one empty folder that has the page's own Python files and some inputs.
Training takes hours and needs texts that are not here; of those commands the verbs and the options are looked up.
"""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from anyformer.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = [
    *("README.md", "docs/vnnlib.md", "docs/mixers.md", "docs/results/mixers.md", "docs/results/copying.md"),
    *("docs/results/sparse_lm.md", "docs/results/recall.md", "docs/how_to/evaluate.md"),
]
BASH = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```python\n(# (\w+\.py)\n.*?)^```$", re.MULTILINE | re.DOTALL)
# They take hours, or models and texts that are not here: looked up, not run.
TRAINING = {"pretrain", "finetune", "evaluate", "predict", "reproduce", "context"}
# Verbs that have verbs of their own.
GROUPS = {"pattern", "zoo", "reproduce"}


def commands(page: str) -> list[list[str]]:
    """The arguments of every anyformer command of a page, without its comments."""
    lines = "".join(BASH.findall(page)).replace("\\\n", " ").splitlines()
    found = [shlex.split(line, comments=True) for line in lines]
    return [line[line.index("anyformer") + 1 :] for line in found if "anyformer" in line]


def verb(arguments: list[str]) -> list[str]:
    return arguments[: 2 if arguments[0] in GROUPS else 1]


SHOWN = {page: commands((ROOT / page).read_text()) for page in PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_every_verb_and_option_exists(page, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert SHOWN[page]
    for arguments in SHOWN[page]:
        assert unknown(arguments, capsys) == set(), arguments


def unknown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Options of a command that its help does not know; the verb itself if there is no such verb."""
    capsys.readouterr()
    if main([*verb(arguments), "--help"]) != 0:
        return {" ".join(verb(arguments))}
    known = set(re.findall(r"(?<![\w-])--?[\w-]+", capsys.readouterr().out))
    return {one for one in arguments if re.match(r"--?[a-z]", one) and one.partition("=")[0] not in known}


def test_unknown_ones_are_seen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert unknown(["plan", "softmax", "--tokens", "2"], capsys) == set()
    assert unknown(["plan", "softmax", "--words", "2"], capsys) == {"--words"}
    assert unknown(["dream", "softmax"], capsys) == {"dream"}
    assert unknown(["zoo", "feed", "softmax"], capsys) == {"zoo feed"}


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if {line[0] for line in SHOWN[page]} - TRAINING])
def test_the_commands_work(page, tmp_path, monkeypatch, capsys):
    for package in ("torch", "onnx", "onnxruntime", "vnnlib", "matplotlib", "ortools"):
        pytest.importorskip(package, reason=f'some command needs {package}: pip install "anyformer[dev]"')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for text, name in FILE.findall((ROOT / page).read_text()):
        Path(name).write_text(text)
    np.save("inputs.npy", np.random.default_rng(0).random((5, 2, 1)))
    for arguments in SHOWN[page]:
        if arguments[0] not in TRAINING:
            code = main(arguments)
            assert code == 0, f"anyformer {shlex.join(arguments)} ended with {code}: {capsys.readouterr()}"
