"""Saved folders to read and to damage; the progress bars of `transformers` are off. Without it, nothing is tested."""

import importlib.util
import shutil

import pytest

import anyformer as af
from anyformer.saved_folders import quiet

collect_ignore_glob = [] if importlib.util.find_spec("transformers") else ["test_*.py"]


@pytest.fixture(autouse=True)
def _quiet():
    with quiet():
        yield


@pytest.fixture(scope="session")
def model():
    """A sparse table of positions: every part that a folder can have but an embedding."""
    return af.construct("sort", 0.4, tokens=4, method="sparse-averaging", pattern="ring")


@pytest.fixture(scope="session")
def original(model, tmp_path_factory):
    from anyformer.exports.huggingface import write

    return write(model, tmp_path_factory.mktemp("huggingface") / "model")


@pytest.fixture
def folder(original, tmp_path):
    """A copy, to be damaged."""
    return shutil.copytree(original, tmp_path / "model")
