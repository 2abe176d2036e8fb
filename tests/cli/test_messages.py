"""What the command line says when something is wrong: exit code 2, one message, and full stops one at a time."""

import re

import pytest

from anyformer.cli.help_texts import with_plain_help
from anyformer.cli.main import app

OWN = """
def ends_with_a_full_stop(x):
    raise ValueError("this went wrong.")

def says_nothing(x):
    raise KeyError

def in_float32(x):
    return x.astype("float32")

def halve(x):
    return x / 2

def one(x):
    tokens, width = x.shape
    return x
"""
FILES = {
    "own.py": OWN,
    "broken.py": 'raise RuntimeError("broken at import.")',
    "bad.csv": "a,b\n1,x\n",
    "short.csv": "1\n",
    "file.txt": "hello\n",
    "damaged.json": "{",
}
BASE = ("--epsilon", "0.3", "--tokens", "2")
BAD = [
    *("bogus", "--bogus", "plan", "plan sort", "plan sort --epsilon x", "plan sort --epsilon 0.1 --tokens 2.5"),
    *("build", "compare", "compare softmax", "curve", "curve softmax --from 0.1", "verify", "run", "run model"),
    *("describe", "trace", "trace MODEL", "pattern", "pattern bogus", "pattern check", "pattern check star"),
    *("pattern draw star --tokens 4", "pretrain", "finetune", "finetune nowhere", "reproduce", "reproduce mixers"),
    *("evaluate", "evaluate nowhere -o r", "predict nowhere -o r"),
    *(
        "reproduce copying",
        "reproduce copying -o r --seeds 0",
        "reproduce recall",
        "reproduce recall -o r --seeds 0",
        "reproduce sparse-lm",
        "reproduce sparse-lm -o r --json x",
    ),
    *("targets --bogus", "pattern list --bogus", "targets extra", "pretrain --size tiny --recipe x.toml -o r"),
    "plan nothing BASE",
    "plan softmax --epsilon -1",
    "plan softmax --epsilon nan",
    "plan softmax --epsilon 0.3 --tokens 1",
    "plan softmax BASE --p 0.5",
    "plan softmax BASE --set sharp=1",
    "plan softmax BASE --set sharpness=x",
    "plan softmax BASE --set sharpness=-1",
    "plan softmax BASE --method nothing",
    "plan softmax BASE --probability-map nothing",
    "plan softmax BASE --pattern nothing",
    "plan softmax BASE --pattern strided:stride=x",
    "plan softmax BASE --pattern strided:bogus=1",
    "plan softmax BASE --hidden-size 0",
    "plan softmax BASE --method averaging --hidden-size 1",
    "plan softmax BASE --max-layers 1",
    "plan softmax BASE --method averaging --max-layers 1",
    "plan softmax BASE --method compile --probability-map sparsemax",
    "plan softmax BASE --method averaging --p inf",
    "plan bump BASE --method compile",
    "plan softmax BASE --max-cells 0",
    "plan softmax BASE --max-memory 0",
    "plan softmax BASE --max-hours 0",
    "plan softmax BASE --workers 0",
    "plan softmax BASE --lipschitz 3",
    "plan own.py:ends_with_a_full_stop BASE",
    "plan own.py:ends_with_a_full_stop BASE --lipschitz 1 --one-by-one",
    "plan own.py:says_nothing BASE",
    "plan own.py:in_float32 BASE",
    "plan own.py:one BASE",
    "plan own.py:nothing BASE",
    "plan own.py:halve BASE --method averaging --lipschitz 0.1",
    "plan own.py:halve BASE --lipschitz -1",
    "plan own.py:halve BASE --low 3 --high 1",
    "plan own.py:halve BASE --low x",
    "plan own.py:halve BASE --compact-support",
    "plan broken.py:f BASE",
    "plan nowhere.py:f BASE",
    "plan os.nowhere:f BASE",
    "build softmax BASE -o file.txt",
    "verify nowhere",
    "verify file.txt",
    "verify folder",
    "verify MODEL --one-by-one",
    "verify MODEL --target nowhere.py:f",
    "run MODEL nowhere.csv",
    "run MODEL bad.csv",
    "run MODEL short.csv",
    "run MODEL file.txt",
    "run MODEL short.csv -o out.xyz",
    "run MODEL short.csv -o nowhere/out.csv",
    "trace MODEL --input x",
    "curve softmax --from 0.4 --to 0.1 --tokens 2",
    "curve softmax --from 0.3 --to 0.4 --tokens 2 -o x.gif",
    "curve softmax --from 0.3 --to 0.4 --tokens 2 --points 0",
    "pattern check nothing --tokens 8",
    "pattern check star --tokens 0",
    "pattern check star --tokens x",
    "pattern check strided:stride=0 --tokens 8",
    "pattern check star --tokens 8 --seconds -1",
    "pattern draw star --tokens 8 -o x.gif",
]
TRAINING = [
    "pretrain -o r --size nothing",
    "pretrain -o r --recipe nowhere.toml",
    "pretrain -o r --recipe file.txt",
    "pretrain -o r --mixer nothing",
    "pretrain -o r --corpus nowhere.txt",
    "pretrain -o r --steps 0",
    "pretrain -o file.txt",
    "finetune nowhere -o r",
    "finetune nowhere -o r --pairs nowhere.tsv",
    "finetune nowhere -o r --pairs file.txt",
    "finetune nowhere -o r --questions damaged.json",
    "evaluate nowhere -o r --pairs nowhere.tsv",
    "evaluate nowhere -o r --pairs file.txt --map x",
    "predict nowhere -o r --pairs file.txt",
    "reproduce mixers -o r --nli file.txt --budget nothing",
    "reproduce mixers -o r --nli nowhere.tsv",
    "reproduce copying -o r --budget nothing",
    "reproduce copying -o file.txt",
    "reproduce recall -o r --budget nothing",
    "reproduce recall -o r --mixer nothing",
    "reproduce recall -o file.txt",
    "reproduce sparse-lm -o r --budget nothing",
    "reproduce sparse-lm -o r --corpus nowhere.txt",
    "reproduce sparse-lm -o file.txt",
]
# An ellipsis is one sign, and three points are one too.
DOUBLED = re.compile(r"(?<!\.)\.\.(?!\.)|\. \.|\.[;,:]|[;,:?!]\.|: \.|\.\)\.")


def test_doubled_full_stops_are_found():
    for text in ("wrong.. Fix", "wrong. . Fix", "wrong.; fix", "ValueError: . Fix", "(wrong.). Fix", "wrong?."):
        assert DOUBLED.search(text)
    for text in ("0.5, 1.0; see x.toml: …", "and so on... Fix", "got '.'. Fix"):
        assert DOUBLED.search(text) is None


@pytest.fixture
def said(call, folders, tmp_path, monkeypatch):
    """What is said about a bad command, whose exit code is 2."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()

    def about(command: str) -> str:
        words = command.replace("MODEL", str(folders["mean-scale"])).replace("BASE", " ".join(BASE)).split()
        outcome = call(*words)
        assert outcome.code == 2, outcome
        assert re.fullmatch(r"error: \S.*\n", outcome.err, flags=re.DOTALL), outcome
        assert "Traceback" not in outcome.err
        return outcome.err

    return about


@pytest.mark.parametrize("command", BAD)
def test_what_is_wrong_is_said_once_with_exit_code_2(said, command):
    assert not DOUBLED.search(said(command))


@pytest.mark.parametrize("command", TRAINING)
def test_so_it_is_where_training_goes_wrong(said, command):
    pytest.importorskip("accelerate", reason="training needs more: pip install anyformer[train]")
    assert not DOUBLED.search(said(command))


def test_without_arguments_the_help_is_shown_and_the_exit_code_is_2(call):
    outcome = call()
    assert outcome.code == 2
    assert "Usage: anyformer" in outcome.out


def test_what_a_function_raises_is_repeated_without_its_full_stop(said):
    message = said("plan own.py:ends_with_a_full_stop BASE")
    assert "it raised ValueError: this went wrong. Fix the function there" in message
    assert "it raised KeyError. Fix" in said("plan own.py:says_nothing BASE")
    assert "importing it raised RuntimeError: broken at import. Fix the code" in said("plan broken.py:f BASE")


def test_a_group_without_a_command_names_its_commands(said):
    assert said("pattern") == "error: anyformer pattern must be followed by one of list, check, design, draw.\n"
    names = "mixers, copying, recall, sparse-lm"
    assert said("reproduce") == f"error: anyformer reproduce must be followed by one of {names}.\n"


def commands(command, *path):
    yield path
    for name, one in getattr(command, "commands", {}).items():
        yield from commands(one, *path, name)


@pytest.mark.parametrize("path", [*commands(with_plain_help(app))], ids=" ".join)
def test_help_shows_what_can_be_typed(call, monkeypatch, path):
    monkeypatch.setenv("COLUMNS", "200")
    outcome = call(*path, "--help")
    assert outcome.code == 0
    assert re.search(r"--help +Show this message and exit", outcome.out)
    assert "bool" not in outcome.out
    assert "list[" not in outcome.out
