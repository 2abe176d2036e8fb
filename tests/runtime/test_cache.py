"""Compiled once: kept on disk, wherever there is a place, and done without where there is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import anyformer

# Prints how many kernels were compiled and how many were read from the cache, and an output.
SCRIPT = """
import numpy as np
from anyformer.networks import BlockShape, FeedForwardStage, Network
from anyformer.runtime import Engine, Layers, run
from anyformer.runtime.kernels import kernels
stage = FeedForwardStage("s", np.ones((3, 4, 2)), np.ones((3, 4)), np.ones((3, 2, 4)), np.ones((3, 2)))
network = Network(3, 2, BlockShape(), (stage,))
out = [run(network, np.ones((2, 3, 2)), layers, Engine.COMPILED) for layers in Layers]
stats = [kernel.stats for kernel in kernels(2, 4)]
print(sum(sum(s.cache_misses.values()) for s in stats), sum(sum(s.cache_hits.values()) for s in stats), out[0][0, 0, 0])
"""
# By hand: x becomes x + 1 + 4·(2x + 1) in each of three layers, from 1.
VALUE = 1184.0


def copied(folder: Path) -> Path:
    """A copy of the package in which nothing can be written beside the sources, even by an administrator."""
    package = folder / "site" / "anyformer"
    shutil.copytree(Path(anyformer.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "runtime" / "__pycache__").write_text("a file where a folder would have to be")
    return package.parent


def outcome(site: Path, home: Path, **more: str) -> list[float]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "PYTHON"))}
    environment = kept | {"HOME": str(home), "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"} | more
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


@pytest.mark.slow
def test_a_read_only_install_compiles_once(tmp_path):
    site, home = copied(tmp_path), tmp_path / "home"
    home.mkdir()
    first, second = outcome(site, home), outcome(site, home)
    assert first[0] > 0
    assert first[1] == 0
    assert second[0] == 0
    assert second[1] == first[0]
    assert first[2] == second[2] == VALUE


@pytest.mark.slow
def test_without_any_place_for_a_cache_it_still_runs(tmp_path):
    site, nowhere = copied(tmp_path), tmp_path / "file"
    nowhere.write_text("not a folder")
    compiled, read, value = outcome(site, nowhere)
    assert compiled > 0
    assert (read, value) == (0, VALUE)


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["numba", "llvmlite"])
def test_without_numba_numpy_does_it(missing, tmp_path):
    (tmp_path / f"{missing}.py").write_text("raise ImportError('not installed')")
    script = """
import numpy as np
from anyformer.runtime import run
from anyformer.runtime.run import default_engine
from tests.random_networks import random_network
x = np.random.default_rng(0).normal(size=(11, 5, 3))
told = default_engine().name, run(random_network(1, 5, 3), x).tobytes().hex()
"""
    path = os.pathsep.join(
        (str(tmp_path), str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")]))
    )
    command = [sys.executable, "-c", script + "print(*told)"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    here = {}
    exec(script, here)
    assert here["told"][0] == "COMPILED"
    assert done.stdout.split() == ["NUMPY", here["told"][1]]
