"""The same command in one process and in two: the same losses."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

RECIPE = """
size = "tiny"
[architecture]
layers = 2
width = 16
heads = 2
vocabulary = 400
longest = 24
dropout = 0.0
mixers = ["convolution:kernel=5,filters=4", "attention:heads=2"]
[text]
tokens = 20
following = true
[schedule]
steps = 8
batch = 6
at_once = 2
evaluate_every = 4
save_every = 4
"""
TWO = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m", "anyformer.cli.main")


def in_one(process: Callable[..., Any], *asked: str) -> str:
    done = process(*asked)
    assert done.code == 0, done.told
    return done.told


def in_two(*asked: str) -> str:
    quiet = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *TWO, *asked], env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_two_processes_have_the_losses_of_one_with_the_same_global_batch(process, tmp_path):
    (tmp_path / "recipe.toml").write_text(RECIPE)
    asked = ("pretrain", "--json", "--corpus", "synthetic:sentences=300", "--recipe", str(tmp_path / "recipe.toml"))
    for told in (in_one(process, *asked, "-o", str(tmp_path / "one")), in_two(*asked, "-o", str(tmp_path / "two"))):
        assert json.loads(told[told.index("{") :])["complete"], "one process of them speaks"
    one, two = (
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("one", "two")
    )
    assert [row["step"] for row in one] == [row["step"] for row in two]
    for alone, shared in zip(one, two, strict=True):
        for name in {"loss", "gradient_norm", "validation_loss", "validation_accuracy"} & set(alone):
            # float32 sums in another order: 2⁻²⁴ a term, some hundred terms deep, and eight steps of Adam, whose step
            # does not shrink with the gradient, on top; half a batch, or another one, is off by more than 0.01. Adam
            # does not mind how large a gradient is; its norm, which is about 1, does.
            assert abs(alone[name] - shared[name]) < 1e-3, (name, alone, shared)
    assert one[1]["loss"] != one[2]["loss"]
