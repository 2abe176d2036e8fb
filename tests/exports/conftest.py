"""Saved models to read, to damage and to replace."""

import shutil
from dataclasses import replace

import pytest

from anyformer.exports import save_folder


@pytest.fixture(scope="session")
def models(small_models, compiled_models):
    """An equivariant, a positional and a width-2 model with tables, and then three of the same kinds, compiled."""
    found = [*small_models[:3], *compiled_models]
    assert [k for k, model in enumerate(found) if model.network.positional_encoding is not None] == [1, 4]
    assert [k for k, model in enumerate(found) if model.network.width == 2] == [2, 5]
    assert [k for k, model in enumerate(found) if model.network.has_embedding] == [3, 4, 5]
    return found


@pytest.fixture(scope="session")
def originals(models, tmp_path_factory):
    """The models' folders, not to be touched."""
    home = tmp_path_factory.mktemp("models")
    return [save_folder(home / str(k), model.network, model.certificate) for k, model in enumerate(models)]


@pytest.fixture
def saved(originals, tmp_path):
    """A copy of the positional model's folder, to be damaged."""
    return shutil.copytree(originals[1], tmp_path / "model")


@pytest.fixture(scope="session")
def certificate_for(models):
    """Make a certificate that speaks of networks of this size; nothing in it is true."""

    def make(network):
        certificate = models[0].certificate
        return replace(certificate, target=replace(certificate.target, tokens=network.tokens, width=network.width))

    return make
