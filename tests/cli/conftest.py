"""The command line inside this process, and small models in folders."""

import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from anyformer.cli.main import main
from anyformer.reports.terminal import visible

LINE_FEED = "\n"

OWN = """
import numpy as np

def halve(x):
    return x / 2

def nothing(x):
    return 0 * x

def ordered(x):
    return np.take_along_axis(x, np.argsort(x, axis=1), axis=1)

def halve_one(x):
    assert x.ndim == 2, "one sequence at a time"
    return x / 2

def noisy(x):
    print("noise")
    return x / 2

def steep(x):
    return 3 * x

def third(x):
    return x / 3

def tent(x):
    return x * np.maximum(0, 1 - np.abs(x).max(axis=(1, 2), keepdims=True))

def raising(x):
    raise RuntimeError("[red]boom\\x1b[31m")

def missing_numbers(x):
    return x * np.nan

def evil(x):
    return x / 2

evil.__name__ = "[bold red]evil\\x1b[31m"
"""


@dataclass(frozen=True)
class Outcome:
    """What a call of the command line left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The one JSON object on stdout."""
        assert self.out.count("\n") == 1
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@pytest.fixture
def call(capsys):
    """Call the command line with these arguments."""

    def with_arguments(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return with_arguments


@pytest.fixture
def refused(call):
    """Call it, expect a message on stderr and an exit code, with --json the same message on stdout too."""

    def with_arguments(*arguments: object, code: int = 2, kind: str = "UsageError") -> str:
        outcome = call(*arguments)
        assert outcome.code == code
        assert outcome.out == ""
        assert outcome.err.startswith("error: ")
        assert "Traceback" not in outcome.err
        again = call(*arguments, "--json")
        assert again.code == code
        assert again.data["error"]["kind"] == kind
        assert set(again.data) == {"error"}
        kept = LINE_FEED if kind in ("UsageError", "PlanError") else ""
        assert outcome.err == again.err == f"error: {visible(again.data['error']['message'], keep=kept)}" + LINE_FEED
        return outcome.err

    return with_arguments


@pytest.fixture(scope="session")
def folders(small_models, compiled_models, tmp_path_factory):
    """The small tables and the compiled models by their targets' names, each saved once; nobody may change them."""
    root = tmp_path_factory.mktemp("models")
    models = {model.certificate.target.name: model for model in (*small_models, *compiled_models)}
    assert len(models) == len(small_models) + len(compiled_models)
    return {name: model.save(root / name) for name, model in models.items()}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A working directory with somebody's own functions in own.py."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path
