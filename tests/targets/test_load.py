import sys

import numpy as np
import pytest

from anyformer.errors import TargetError
from anyformer.targets import load_function


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of somebody's code; what loading adds to the interpreter is taken out again afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_function_of_a_file_with_a_neighbour_it_imports(folder):
    write(folder, "elsewhere/neighbour_of_mine.py", "factor = 3\n")
    path = write(folder, "elsewhere/mine.py", "import neighbour_of_mine as n\ndef f(x):\n    return n.factor * x\n")
    search_path = list(sys.path)
    assert load_function(f"{path}:f")(2.0) == 6.0
    assert load_function("elsewhere/mine.py:f")(2.0) == 6.0
    assert sys.path == search_path


def test_a_file_does_not_take_the_place_of_a_module(folder):
    import json

    path = write(folder, "json.py", "def f(x):\n    return x\n")
    load_function(f"{path}:f")
    assert sys.modules["json"] is json


def test_a_file_with_a_dataclass(folder):
    header = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    body = "@dataclass\nclass Scale:\n    by: float\n    def __call__(self, x):\n        return self.by * x\n"
    write(folder, "mine.py", f"{header}{body}f = Scale(2.0)\n")
    assert load_function("mine.py:f")(3.0) == 6.0


def test_a_function_of_a_module_under_the_working_directory(folder):
    write(folder, "package_of_mine/__init__.py", "")
    write(folder, "package_of_mine/functions.py", "def f(x):\n    return x + 1\n")
    search_path = list(sys.path)
    assert load_function("package_of_mine.functions:f")(1.0) == 2.0
    assert sys.path == search_path


def test_a_function_of_an_installed_module():
    assert load_function("numpy:sort") is np.sort


def test_code_may_change_the_search_path_itself(folder):
    write(folder, "mine.py", "import sys\nsys.path.pop(0)\nf = abs\n")
    search_path = list(sys.path)
    load_function("mine.py:f")
    assert sys.path == search_path


@pytest.mark.parametrize("spec", ["softmax", "mine.py", "mine.py:", ":f", ""])
def test_a_spec_without_place_or_function_is_refused(spec):
    with pytest.raises(TargetError, match=r"must be named with its place.*Write path/to/file.py:function") as caught:
        load_function(spec)
    assert repr(spec) in str(caught.value)


@pytest.mark.parametrize("spec", ["absent.py:f", "some/folder:f"])
def test_a_missing_file_is_reported(folder, spec):
    with pytest.raises(TargetError, match=f"'{spec}' must name an existing Python file; there is none at"):
        load_function(spec)


def test_a_file_without_the_ending_is_reported(folder):
    write(folder, "some/mine.txt", "f = abs\n")
    with pytest.raises(TargetError, match=r"'mine.txt' has no .py ending"):
        load_function("some/mine.txt:f")


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        ("1 / 0\n", ZeroDivisionError),
        ("def f(:\n", SyntaxError),
        ("import absent_module_of_mine\n", ModuleNotFoundError),
        ("raise SystemExit(3)\n", SystemExit),
    ],
)
@pytest.mark.parametrize("spec", ["broken_of_mine.py:f", "broken_of_mine:f"])
def test_code_that_raises_is_reported_with_its_cause(folder, text, raised, spec):
    write(folder, "broken_of_mine.py", text)
    search_path, modules = list(sys.path), set(sys.modules)
    with pytest.raises(
        TargetError, match=f"'{spec}' must be importable; importing it raised {raised.__name__}"
    ) as caught:
        load_function(spec)
    assert isinstance(caught.value.__cause__, raised)
    assert sys.path == search_path
    assert set(sys.modules) == modules


def test_a_missing_module_is_reported(folder):
    with pytest.raises(TargetError, match="ModuleNotFoundError: No module named 'absent_module_of_mine'"):
        load_function("absent_module_of_mine:f")


def test_a_missing_function_is_reported_with_those_that_exist(folder):
    write(folder, "mine.py", "def scale(x): ...\ndef shift(x): ...\ndef _hidden(x): ...\nsize = 3\n")
    with pytest.raises(TargetError, match=r"the callables there are scale, shift\. Did you mean 'scale'\?"):
        load_function("mine.py:scala")
    with pytest.raises(TargetError, match=r"the callables there are scale, shift\.$"):
        load_function("mine.py:nothing_like_it")
    with pytest.raises(TargetError, match=r"the callables there are .*, …"):
        load_function("numpy:nothing_like_it")


@pytest.mark.parametrize(("name", "kind"), [("size", "int"), ("empty", "NoneType")])
def test_what_cannot_be_called_is_reported(folder, name, kind):
    write(folder, "mine.py", "size = 3\nempty = None\n")
    with pytest.raises(TargetError, match=f"'mine.py:{name}' must name a function; '{name}' is a {kind}"):
        load_function(f"mine.py:{name}")
