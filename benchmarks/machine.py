"""The machine a number was measured on: its processor, its versions, and its dgemm peak. No names, no paths."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.interleave import Program, best_of

THREADS = 2
PACKAGES = ("anyformer", "numpy", "scipy", "numba", "torch", "transformers", "jax", "jaxlib", "onnxruntime", "onnx")
VECTORS = ("avx2", "fma", "avx512f")


def describe() -> dict[str, Any]:
    """Everything a reader needs to judge an absolute number."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": _processor(),
        "vectors": [name for name in VECTORS if name in _cpu_field("flags").split()],
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    return f"{_cpu_field('model name')}, family {_cpu_field('cpu family')} model {_cpu_field('model')}"


def _cpu_field(name: str) -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.split("\t")[0] == name), "unknown")


def dgemm(sizes: tuple[int, ...]) -> tuple[Program, float]:
    """The product of two square matrices by NumPy's BLAS, at the size where it is fastest, and its flops a call."""
    programs = [_product(size) for size in sizes]
    rates = [2.0 * size**3 / best_of(program, 3) for size, program in zip(sizes, programs, strict=True)]
    chosen = int(np.argmax(rates))
    return programs[chosen], 2.0 * sizes[chosen] ** 3


def _product(size: int) -> Program:
    rng = np.random.default_rng(size)
    a, b, out = rng.random((size, size)), rng.random((size, size)), np.empty((size, size))
    return Program(f"dgemm {size}", lambda: np.matmul(a, b, out=out))
