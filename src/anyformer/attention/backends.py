"""The ways in which sparse attention can be computed, and which one is taken."""

import importlib
import importlib.util
from functools import cache
from typing import Any, Final

import torch

from anyformer.errors import AttentionError
from anyformer.patterns.tiling.compiler import COMPILED, Prices

NUMBA: Final = "numba"
GATHER: Final = "gather"
FLEX: Final = "flex"
BACKENDS: Final = (NUMBA, GATHER, FLEX)
DTYPES: Final = (torch.float32, torch.float64)


@cache
def implementation(backend: str) -> Any:
    """The module with `tensors_of`, `pairs_computed`, `forward` and `backward`; FlexAttention has its own."""
    names = {NUMBA: "anyformer.attention.compiled", GATHER: "anyformer.attention.gathered"}
    return importlib.import_module(names[backend])


def prices(backend: str) -> Prices:
    """What pairs and merging cost with this back end."""
    return COMPILED if backend == NUMBA else implementation(backend).PRICES


@cache
def has_numba() -> bool:
    """Whether kernels can be compiled here."""
    return importlib.util.find_spec("numba") is not None


def chosen(backend: str | None, device: torch.device) -> str:
    """The back end that is asked for, if it can be had on this device, or the best one that can."""
    if backend is None:
        return NUMBA if device.type == "cpu" and has_numba() else GATHER
    if backend not in BACKENDS:
        raise AttentionError(
            f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}. Leave it out for the best."
        )
    if backend == FLEX and device.type != "cuda":
        raise AttentionError(
            f"the back end {FLEX!r} must have tensors on CUDA; got {device}. FlexAttention has no backward pass"
            " elsewhere. Leave the back end out for the best one."
        )
    if backend == NUMBA and device.type != "cpu":
        raise AttentionError(f"the back end {NUMBA!r} must have tensors on a CPU; got {device}. Take {GATHER!r}.")
    if backend == NUMBA and not has_numba():
        raise AttentionError(
            f"the back end {NUMBA!r} must have Numba; it is not installed. Install it:"
            f' pip install "anyformer[fast]", or take {GATHER!r}.'
        )
    return backend
