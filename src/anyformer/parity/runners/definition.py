"""NumPy, one rounding after the other: what a network means."""

from dataclasses import dataclass
from typing import ClassVar

from anyformer.networks.evaluate import evaluate
from anyformer.parity.runners.runner import Cast, Run, Runner


@dataclass(frozen=True)
class Definition(Runner):
    """`anyformer.networks.evaluate`."""

    name: ClassVar[str] = "NumPy"

    def prepare(self, model: Cast) -> Run:
        """Nothing to prepare."""
        return lambda x: evaluate(model.network, x)
