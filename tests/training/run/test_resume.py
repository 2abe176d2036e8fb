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

# The kills allow a run about 60 steps: so many more are left that it cannot end before the last one.
KILLS, STEPS = 20, 200


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


def kill(run: BaseProcess, folder: RunFolder, steps: int, pause: float) -> None:
    """Kill a run a moment after it has made so many steps more; steps, not seconds, say when, as machines differ."""
    before = len(losses(folder))
    while steps and run.is_alive() and len(losses(folder)) - before < steps:
        time.sleep(0.002)
    run.join(pause)
    run.kill()
    run.join()
    assert run.exitcode == -signal.SIGKILL


def test_killed_twenty_times_the_weights_are_the_same_to_the_last_bit(tmp_path):
    text(tmp_path / "text")
    start(int).join()  # the first one waits for PyTorch
    ready, whole = seconds(tmp_path / "one", 1), seconds(tmp_path / "whole", STEPS)
    one, other = RunFolder(tmp_path / "whole"), RunFolder(tmp_path / "killed")
    chance, reached = random.Random(5), set()
    for _ in range(KILLS):
        steps = chance.randint(0, 5)
        # Anywhere within a step and its checkpoint; or while the run is still getting ready.
        pause = chance.uniform(0, (whole - ready) / STEPS if steps else ready)
        kill(start(work, other.place, STEPS), other, steps, pause)
        reached.add(len(losses(other)))
    assert len(reached) > KILLS / 2
    seconds(other.place, STEPS)
    assert weights(one) == weights(other)
    assert losses(one) == losses(other)
