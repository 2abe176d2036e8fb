"""PyTorch, by the module of `to_torch`."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anyformer.arrays import Array
from anyformer.extras import require
from anyformer.parity.runners.runner import Cast, Run, Runner


@dataclass(frozen=True)
class PyTorch(Runner):
    """On the processor, without gradients."""

    name: ClassVar[str] = "PyTorch"

    def prepare(self, model: Cast) -> Run:
        """A module with parameters of the network's type."""
        torch = require("torch", extra="torch", what="parity with PyTorch")
        module = require("anyformer.exports.pytorch", extra="torch", what="parity with PyTorch").to_torch(model)
        dtype = getattr(torch, model.network.dtype.name)

        def run(x: Array) -> Array:
            with torch.no_grad():
                return np.asarray(module(torch.tensor(x).to(dtype)).to(torch.float64).numpy())

        return run
