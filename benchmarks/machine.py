"""The machine a number was measured on: processor, versions, peak at matrix products, memory. No names, no paths."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.interleave import Program, best_of

THREADS = 2
PACKAGES = (
    "anyformer",
    "numpy",
    "scipy",
    "numba",
    "torch",
    "transformers",
    "jax",
    "jaxlib",
    "onnxruntime",
    "onnx",
    "local-attention",
)
VECTORS = ("avx2", "fma", "avx512f")
INSTRUCTIONS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX"}


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
    return _fastest([_product(size) for size in sizes], sizes)


def sgemm(sizes: tuple[int, ...]) -> tuple[Program, float]:
    """The same in float32 by SciPy's BLAS, with AVX-512 where there is, even if the environment asks for less.

    It listens when it is loaded, so SciPy's linear algebra must not have been imported before.
    """
    asked = os.environ.pop("OPENBLAS_CORETYPE", None)
    if instructions() == "AVX-512":
        os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"
    from scipy.linalg.blas import sgemm as product

    os.environ.pop("OPENBLAS_CORETYPE", None)
    if asked is not None:
        os.environ["OPENBLAS_CORETYPE"] = asked

    def program(size: int) -> Program:
        # By columns, as it likes them.
        a, b, out = (np.asfortranarray(np.random.default_rng(size).random((size, size), np.float32)) for _ in range(3))
        return Program(f"sgemm {size}", lambda: product(1.0, a, b, 0.0, out, overwrite_c=True))

    return _fastest([program(size) for size in sizes], sizes)


def sgemm_library() -> str:
    """SciPy's BLAS, and for which processors the loops that it uses are written."""
    from threadpoolctl import threadpool_info

    found = [one for one in threadpool_info() if Path(one["filepath"]).parent.name == "scipy.libs"]
    return ", ".join(f"{one['internal_api']} {one['version']} for {one.get('architecture')}" for one in found)


def _fastest(programs: list[Program], sizes: tuple[int, ...]) -> tuple[Program, float]:
    rates = [2.0 * size**3 / best_of(program, 3) for size, program in zip(sizes, programs, strict=True)]
    chosen = int(np.argmax(rates))
    return programs[chosen], 2.0 * sizes[chosen] ** 3


def _product(size: int) -> Program:
    rng = np.random.default_rng(size)
    a, b, out = rng.random((size, size)), rng.random((size, size)), np.empty((size, size))
    return Program(f"dgemm {size}", lambda: np.matmul(a, b, out=out))


def instructions() -> str:
    """The widest vector instructions that there are, which compiled kernels use."""
    flags = _cpu_field("flags").split()
    return next((shown for flag, shown in INSTRUCTIONS.items() if flag in flags), "none of " + ", ".join(INSTRUCTIONS))


def mib(field: str) -> float:
    """VmRSS, what the process holds, or VmHWM, the most it held. (`ru_maxrss` would remember the parent's.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))


def forget_peak() -> None:
    """From here on VmHWM is the peak of what follows (Linux, proc(5))."""
    Path("/proc/self/clear_refs").write_text("5")
