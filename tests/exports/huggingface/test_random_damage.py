"""Folders with seeded random damage: each is loaded as a network, or refused with an error of ours."""

import random
import shutil
import warnings

import pytest
import torch

from anyformer.errors import AnyformerError
from anyformer.exports.huggingface import AnyformerModel, from_huggingface
from tests.fuzzing import damaged_bytes, damaged_json

FILES = ["config.json", "certificate.json", "model.safetensors"]


def survives(original, tmp_path, name, seed) -> bool:
    """Whether a damaged folder is still a model; anything but a refusal in words raises."""
    draw = random.Random(f"{name} {seed}")
    folder = shutil.copytree(original, tmp_path / f"{name}-{seed}")
    place = folder / name
    if name.endswith(".json") and draw.randrange(2):
        place.write_text(damaged_json(place.read_text(), draw))
    else:
        place.write_bytes(damaged_bytes(place.read_bytes(), draw))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the certificate is not carried along")
            loaded = AnyformerModel.from_pretrained(folder)
        network = from_huggingface(loaded)
        x = torch.zeros(2, network.tokens, network.width, dtype=loaded.dtype)
        assert loaded(x).last_hidden_state.shape == x.shape
    except AnyformerError:
        return False
    return True


@pytest.mark.parametrize("name", FILES)
def test_damaged_folders(original, tmp_path, name):
    verdicts = [survives(original, tmp_path, name, seed) for seed in range(40)]
    assert not all(verdicts)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_many_damaged_folders(original, tmp_path, name):
    verdicts = [survives(original, tmp_path, name, seed) for seed in range(1000, 1600)]
    assert {True, False} == set(verdicts)
