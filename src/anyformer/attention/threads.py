"""Work shared by as many threads as PyTorch uses; the kernels give up the interpreter's lock."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeAlias

import torch

Job: TypeAlias = Callable[[], Any]


def run(jobs: Iterable[Job]) -> None:
    """Do all jobs, in any order and at the same time, and wait for the last one."""
    jobs, threads = list(jobs), torch.get_num_threads()
    if threads == 1 or len(jobs) == 1:
        for job in jobs:
            job()
        return
    waiting = iter(jobs)  # each next() is one step of the interpreter: no job is taken twice
    workers = [_pool(threads).submit(_work_off, waiting) for _ in range(min(threads, len(jobs)))]
    for worker in workers:
        worker.result()


def _work_off(jobs: Iterable[Job]) -> None:
    for job in jobs:
        job()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="anyformer-attention")


# Threads do not survive a fork: a child starts its own.
os.register_at_fork(after_in_child=_pool.cache_clear)
