"""Half of the tokens on each of two threads, for peers that let go of Python's lock: tokens do not meet each other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from anyformer.arrays import Array
from benchmarks.machine import THREADS


def split(x: Array) -> list[Array]:
    """Equal parts of the tokens (tokens, width), as many as there are threads."""
    size = -(-len(x) // THREADS)
    return [x[start : start + size] for start in range(0, len(x), size)]


def on_threads(call: Callable[[Any], Any], parts: list[Any]) -> Callable[[], list[Any]]:
    """Call every part on a thread of its own; the threads wait between calls."""
    pool = ThreadPoolExecutor(len(parts))
    return lambda: list(pool.map(call, parts))
