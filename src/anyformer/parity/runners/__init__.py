"""The runtimes that are compared, one file each."""

from typing import Final

from anyformer.parity.runners.definition import Definition
from anyformer.parity.runners.engine import Engine
from anyformer.parity.runners.jax import Jax
from anyformer.parity.runners.onnxruntime import OnnxRuntime
from anyformer.parity.runners.pytorch import PyTorch
from anyformer.parity.runners.runner import Cast, Run, Runner

RUNNERS: Final[tuple[Runner, ...]] = (Definition(), Engine(), PyTorch(), OnnxRuntime(), Jax())

__all__ = ["RUNNERS", "Cast", "Definition", "Engine", "Jax", "OnnxRuntime", "PyTorch", "Run", "Runner"]
