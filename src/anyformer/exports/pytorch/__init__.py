"""A network as a PyTorch module, and back."""

from anyformer.extras import require

require("torch", extra="torch", what="PyTorch modules")

from anyformer.exports.pytorch.conversion import from_torch, load_torch, to_torch, write
from anyformer.exports.pytorch.module import NetworkModule
from anyformer.exports.pytorch.parts import Recorded

__all__ = ["NetworkModule", "Recorded", "from_torch", "load_torch", "to_torch", "write"]
