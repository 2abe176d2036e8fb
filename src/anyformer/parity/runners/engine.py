"""The engine, which must give the definition's bits."""

from dataclasses import dataclass
from typing import ClassVar

from anyformer.parity.runners.runner import Cast, Run, Runner
from anyformer.runtime.run import run


@dataclass(frozen=True)
class Engine(Runner):
    """`anyformer.runtime.run`."""

    name: ClassVar[str] = "engine"

    def prepare(self, model: Cast) -> Run:
        """Nothing to prepare."""
        return lambda x: run(model.network, x)
