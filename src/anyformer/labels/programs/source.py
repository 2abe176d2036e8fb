"""A compiled network, or an interpolant, as a source of labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import as_sequences
from anyformer.labels.label import Label
from anyformer.labels.place import Place
from anyformer.labels.programs.facts import ProgramFacts
from anyformer.labels.programs.labels import program_labels, program_outputs
from anyformer.labels.programs.values import ProgramValues
from anyformer.labels.source import Source
from anyformer.targets.target import Target


@dataclass(frozen=True, eq=False)
class ProgramSource(Source):
    """The network's facts, and the target itself."""

    facts: ProgramFacts
    target: Target

    def labels(self) -> tuple[Label, ...]:
        """Every label, by stage."""
        return tuple(
            sorted(program_labels(self.facts), key=lambda label: (label.stage, label.layers, label.kind, label.indices))
        )

    def outputs(self) -> tuple[str, ...]:
        """The formula of every output coordinate."""
        return program_outputs(self.facts)

    def single(self, label: Label, place: Place) -> Label:
        """Labels of programs speak of one place each, but for stages."""
        return label

    def values(self, x: ArrayLike) -> ProgramValues:
        """The values of every node, channel and unit."""
        given, network = np.asarray(x), self.facts.network
        sequences = as_sequences(given[None] if given.ndim == 2 else given, network.tokens, network.width)
        return ProgramValues(self.facts, self.target, network.dtype.rounded(sequences))
