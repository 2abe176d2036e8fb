"""Saved folders to read and to damage; the progress bars of `transformers` are off."""

import shutil

import pytest

pytest.importorskip("transformers", reason="Hugging Face models need more: pip install anyformer[huggingface]")

import anyformer as af
from anyformer.exports.huggingface import write
from anyformer.saved_folders import quiet


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
    return write(model, tmp_path_factory.mktemp("huggingface") / "model")


@pytest.fixture
def folder(original, tmp_path):
    """A copy, to be damaged."""
    return shutil.copytree(original, tmp_path / "model")
