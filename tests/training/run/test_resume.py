"""A run that is killed, however often and whenever, ends with the same weights."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from anyformer.training import RunFolder
from tests.training.run.killing import KILLS, STEPS, losses

ROOT = Path(__file__).parents[3]


def weights(folder: RunFolder) -> dict[str, bytes]:
    loaded = load_file(folder.model / "model.safetensors")
    return {name: tensor.numpy().tobytes() for name, tensor in loaded.items()}


@pytest.mark.slow
def test_killed_twenty_times_the_weights_are_the_same_to_the_last_bit(tmp_path):
    command = [sys.executable, "-m", "tests.training.run.killing", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    reached = json.loads(done.stdout)
    assert len(reached) == KILLS == 20
    assert len(set(reached)) > KILLS / 2
    whole, killed = RunFolder(tmp_path / "whole"), RunFolder(tmp_path / "killed")
    assert weights(whole) == weights(killed)
    assert losses(whole) == losses(killed)
    assert len(losses(whole)) == STEPS
