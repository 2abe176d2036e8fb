"""Our engines among themselves: compiled and plain NumPy, skipping and not, and what the first call costs."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

from anyformer import targets
from anyformer.runtime import Engine, Layers, run
from benchmarks.interleave import Program, interleave
from benchmarks.machine import THREADS
from benchmarks.plans import build, plan_with_counts
from benchmarks.results import Size

COUNTS = {Size.FULL: 32, Size.QUICK: 12}
SEQUENCES = {Size.FULL: 20_000, Size.QUICK: 1000}
FIRST_CALL = """
import json, time
start = time.perf_counter()
import numba
imported = time.perf_counter()
from benchmarks.cases import Case
from anyformer.runtime import Engine, Layers, run
case = Case(10, 2, 100)
network, x = case.network, case.sequences
ready = time.perf_counter()
run(network, x, layers=Layers.ALL, engine=Engine.COMPILED, threads=2)
print(json.dumps({"import_numba": imported - start, "call": time.perf_counter() - ready}))
"""


def compare_own(size: Size) -> dict[str, Any]:
    """Softmax over three tokens: thousands of layers, of which a token meets a handful."""
    plan = plan_with_counts(targets.softmax(tokens=3), COUNTS[size])
    network = build(plan).network
    x = np.random.default_rng(0).random((SEQUENCES[size], 3, 1))
    kinds = [(Engine.COMPILED, Layers.AWAKE), (Engine.NUMPY, Layers.AWAKE), (Engine.COMPILED, Layers.ALL)]
    programs = [
        Program(f"{engine}", lambda engine=engine, layers=layers: run(network, x, layers, engine, THREADS))
        for engine, layers in kinds
    ]
    outputs = [program.call() for program in programs]
    assert all(np.array_equal(output, outputs[0]) for output in outputs), "all engines return the same bits"
    timings = interleave(programs, rounds=5)
    rows = [
        {"engine": engine.value, "layers": layers.value, **timing.as_json()}
        for (engine, layers), timing in zip(kinds, timings, strict=True)
    ]
    return {"network": f"softmax over 3 tokens, {network.layer_count:,} layers", "sequences": len(x), "rows": rows}


def starting_up() -> dict[str, dict[str, float]]:
    """Seconds of the first call in a fresh process, with an empty cache and with the one that it left."""
    with tempfile.TemporaryDirectory() as cache:
        return {name: _first_call(cache) for name in ("empty cache", "full cache")}


def _first_call(cache: str) -> dict[str, float]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL], env=environment, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))
