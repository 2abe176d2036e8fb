"""A run that is killed, however often and whenever, ends with the same weights."""

import multiprocessing
import random
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch
from safetensors.torch import load_file

from anyformer.training import RunFolder, pretrain
from tests.training.small import recipe, text

KILLS, STEPS = 20, 120


def weights(folder: RunFolder) -> dict[str, bytes]:
    loaded = load_file(folder.model / "model.safetensors")
    return {name: tensor.numpy().tobytes() for name, tensor in loaded.items()}


def losses(folder: RunFolder) -> list[tuple[int, float]]:
    return [(row["step"], row["loss"]) for row in folder.rows() if "loss" in row]


def start(target: Callable[..., object], *given: object) -> BaseProcess:
    """A process of its own, forked from one that has imported PyTorch and done nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["anyformer.training", "anyformer.mixers.bert"])
    process = context.Process(target=target, args=given)
    process.start()
    return process


def work(place: Path, steps: int) -> None:
    torch.set_num_threads(1)
    pretrain(recipe(steps=steps, save_every=2), text(place.parent / "text"), place)


def seconds(place: Path, steps: int) -> float:
    """How long a run takes that nobody kills."""
    began = time.perf_counter()
    run = start(work, place, steps)
    run.join()
    assert run.exitcode == 0
    return time.perf_counter() - began


def test_killed_twenty_times_the_weights_are_the_same_to_the_last_bit(tmp_path):
    text(tmp_path / "text")
    start(int).join()  # the first one waits for PyTorch
    ready, whole = seconds(tmp_path / "one", 1), seconds(tmp_path / "whole", STEPS)
    chance, reached, killed = random.Random(5), set(), 0
    for _ in range(KILLS):
        child = start(work, tmp_path / "killed", STEPS)
        # At any moment, from before the first step to after some checkpoints; all together take about one run.
        child.join(chance.uniform(ready / 2, ready + 2 * (whole - ready) / KILLS))
        child.kill()
        child.join()
        killed += child.exitcode == -signal.SIGKILL
        reached.add(len(losses(RunFolder(tmp_path / "killed"))))
    seconds(tmp_path / "killed", STEPS)
    # A busy machine may finish early; what is asserted below would then be shown by fewer kills.
    assert killed >= KILLS / 2
    assert len(reached) > KILLS / 4
    one, other = RunFolder(tmp_path / "whole"), RunFolder(tmp_path / "killed")
    assert weights(one) == weights(other)
    assert losses(one) == losses(other)
