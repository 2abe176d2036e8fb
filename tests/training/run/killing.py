"""A program that kills its own children while they train, and starts them again.

`python -m tests.training.run.killing HOME` leaves a run that nobody killed in HOME/whole and one that was killed twenty
times in HOME/killed, and prints how many steps the latter had made at each kill. It is a program of its own, for it
forks, and a test runner with threads must not.
"""

import json
import multiprocessing
import random
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch

import anyformer.mixers.bert  # noqa: F401
from anyformer.training import RunFolder, pretrain
from tests.training.small import recipe, text

# The kills allow a run about 60 steps: so many more are left that it cannot end before the last one.
KILLS, STEPS = 20, 200


def losses(folder: RunFolder) -> list[tuple[int, float]]:
    return [(row["step"], row["loss"]) for row in folder.rows() if "loss" in row]


def start(target: Callable[..., object], *given: object) -> BaseProcess:
    """A process of its own, forked from this one, which has imported PyTorch and done nothing else."""
    process = multiprocessing.get_context("fork").Process(target=target, args=given)
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


def main(home: Path) -> None:
    ready, whole = seconds(home / "one", 1), seconds(home / "whole", STEPS)
    folder = RunFolder(home / "killed")
    chance, reached = random.Random(5), []
    for _ in range(KILLS):
        steps = chance.randint(0, 5)
        # Anywhere within a step and its checkpoint; or while the run is still getting ready.
        pause = chance.uniform(0, (whole - ready) / STEPS if steps else ready)
        kill(start(work, folder.place, STEPS), folder, steps, pause)
        reached.append(len(losses(folder)))
    seconds(folder.place, STEPS)
    print(json.dumps(reached))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
