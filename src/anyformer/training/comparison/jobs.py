"""Jobs that any number of processes share: each takes one that is ready and that no other process is working on."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from anyformer.errors import TrainingError
from anyformer.training.run.metrics import Watch
from anyformer.training.run.processes import processes
from anyformer.training.run.recipe import Schedule

Watching = Callable[[str, Schedule], AbstractContextManager[Watch | None]]
"""Makes the callback that gets a run's measurements, from its title and schedule."""
PATIENCE = 5.0
"""Seconds until a process that must wait for others looks again."""


@dataclass(frozen=True)
class Job(ABC):
    """Something to do once, with a result on disk by which every process sees that it is done."""

    name: str
    """What the job is, as a file name."""

    @property
    @abstractmethod
    def is_complete(self) -> bool:
        """Whether the result is there."""

    @property
    def needs(self) -> Sequence["Job"]:
        """Jobs that must be complete before this one can start."""
        return ()

    @abstractmethod
    def do(self, watching: Watching) -> None:
        """Do it, or go on with it where an earlier process stopped."""


def work(goals: Sequence[Job], locks: Path, watching: Watching, patience: float = PATIENCE) -> Iterator[Job]:
    """Reach all goals, in their order where that is possible; each job is yielded when this process has done it.

    Only what a missing goal needs is done. Where everything that is left is being done by others, or waits for it, this
    process waits too: if another is killed, its job is free again, and this one goes on with it.
    """
    if processes().num_processes > 1:
        raise TrainingError(
            "a comparison must be started as single processes, which share its runs among them; got one of"
            f" {processes().num_processes} joined processes. Start the same command several times instead."
        )
    locks.mkdir(parents=True, exist_ok=True)
    while left := wanted(goals):
        ready = (job for job in left if all(need.is_complete for need in job.needs))
        done = next((job for job in ready if _done_here(job, locks, watching)), None)
        if done is None:
            time.sleep(patience)
        else:
            yield done


def wanted(goals: Sequence[Job]) -> list[Job]:
    """The incomplete goals and all that they need, each once and after what it needs."""
    found: dict[str, Job] = {}

    def visit(job: Job) -> None:
        if job.name not in found and not job.is_complete:
            for need in job.needs:
                visit(need)
            found[job.name] = job

    for goal in goals:
        visit(goal)
    return list(found.values())


def _done_here(job: Job, locks: Path, watching: Watching) -> bool:
    """Do the job unless another process is doing it, or has just done it."""
    lock = FileLock(locks / f"{job.name}.lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    try:
        if job.is_complete:
            return False
        job.do(watching)
        return True
    finally:
        lock.release()
