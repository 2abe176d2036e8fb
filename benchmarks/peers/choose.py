"""Every peer is given its best: all its ways are tried, checked against ours, and the fastest is compared."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from anyformer.arrays import Array
from benchmarks.cases import Case
from benchmarks.interleave import Program, best_of
from benchmarks.peers import jax_scan, onnx_runtime, torch_compiled, torch_eager

PEERS = {
    "torch eager": torch_eager.programs,
    "torch.compile": torch_compiled.programs,
    "jax.lax.scan": jax_scan.programs,
    "onnxruntime": onnx_runtime.programs,
}
AGREEMENT = 1e-9
TRIALS = 3


@dataclass(frozen=True, eq=False)
class Chosen:
    """The programs of a peer to time, the fastest first, and the seconds of every way tried."""

    programs: list[Program]
    tried: dict[str, float]


def choose(peer: str, case: Case, expected: Array, only: frozenset[str] = frozenset()) -> Chosen:
    """Try the ways of a peer (or only those named), and keep the fastest and the usual one."""
    found, tried = [], {}
    for program in _ready(peer, PEERS[peer](case, only), expected):
        tried[program.name] = best_of(program, TRIALS)
        found.append(program)
        # Only these two are still wanted; the others' memory is given back before the next is made.
        fastest = min(found, key=lambda one: tried[one.name])
        found = [fastest, *(one for one in found if one.is_usual and one is not fastest)]
    # What was best for fewer layers may not be possible with more; then all ways are tried after all.
    return Chosen(found, tried) if found or not only else choose(peer, case, expected)


def _ready(peer: str, programs: Iterator[Program], expected: Array) -> Iterator[Program]:
    """Make each and call it once, which may compile it; and make sure that it computes the same function."""
    while True:
        start = time.perf_counter()
        program = next(programs, None)
        if program is None:
            return
        result = program.call()
        seconds = time.perf_counter() - start
        error = float(np.abs(np.asarray(program.read(result)) - expected).max())
        if not error <= AGREEMENT:
            raise RuntimeError(f"{peer}, {program.name}, computes something else: it is off by {error:g}")
        yield replace(program, peer=peer, setup_seconds=seconds)
