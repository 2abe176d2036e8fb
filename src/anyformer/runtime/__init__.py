"""Running networks fast: the same bits as their definition, whatever the engine, the batch and the threads."""

from anyformer.networks.runs import Layers
from anyformer.runtime.run import Engine, run

__all__ = ["Engine", "Layers", "run"]
