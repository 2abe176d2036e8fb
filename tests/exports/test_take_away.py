"""Functions of the package that bring models to other tools: found by name, imported when they are asked for."""

import subprocess
import sys

import pytest

import anyformer as af


@pytest.mark.parametrize("name", sorted(af._TAKE_AWAY))
def test_every_function_is_there(name):
    assert name in dir(af)
    assert callable(getattr(af, name))


def test_a_name_that_is_not_there_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="module 'anyformer' has no attribute 'to_tensorflow'"):
        af.to_tensorflow  # noqa: B018


def test_nothing_large_is_imported_before():
    large = "{'torch', 'onnx', 'transformers', 'jax'}"
    code = f"import sys, anyformer as af; dir(af); print(sorted({large} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
