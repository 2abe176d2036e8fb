"""What labels of a program start from: the traced program, the checker's findings, and where its layers are."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.claims.certificate import Certificate
from anyformer.certificates.programs.bound import ProgramBound, bound_of_program
from anyformer.certificates.programs.hints import Hint
from anyformer.labels.programs.arguments import Arguments
from anyformer.labels.programs.layer_places import PlacedLayer, placed_layers
from anyformer.networks.network import Network
from anyformer.programs.forms import Node
from anyformer.programs.kuhn import interpolant_program
from anyformer.programs.program import Program
from anyformer.programs.roots import Roots
from anyformer.programs.tracing import trace
from anyformer.targets.target import Target


@dataclass(frozen=True, eq=False)
class ProgramFacts:
    """A network, the program that it computes, and the checker's bound for every node of it."""

    network: Network
    program: Program
    hints: tuple[Hint, ...]
    bound: ProgramBound

    @classmethod
    def of(cls, network: Network, certificate: Certificate, target: Target) -> "ProgramFacts":
        """Trace the target and let the checker walk through the weights.

        Raises NotShown if they do not compute what the certificate's hints say.
        """
        cells = certificate.cells
        program = trace(target) if cells is None else interpolant_program(target, cells)
        return cls(network, program, certificate.hints, bound_of_program(program, network, certificate.hints))

    @cached_property
    def nodes(self) -> list[Node]:
        """By number."""
        return list(self.program.nodes)

    @cached_property
    def computed(self) -> frozenset[int]:
        """The numbers of the nodes that have a channel."""
        return frozenset(hint.node for hint in self.hints)

    @cached_property
    def roots(self) -> Roots:
        """Which nodes are curves, and of what."""
        return Roots()

    @cached_property
    def layers(self) -> list[PlacedLayer]:
        """The layers as hints count them."""
        return placed_layers(self.network)

    @cached_property
    def arguments(self) -> Arguments:
        """What hidden units read."""
        return Arguments(self.positions, self.bound.readings, self.roots, self.computed)

    @cached_property
    def W_E(self) -> Array:
        """The embedding; the identity if there is none."""
        return np.eye(self.network.width) if self.network.W_E is None else self.network.W_E

    @cached_property
    def positions(self) -> Array:
        """What each token's place adds to the stream, (tokens, stream width)."""
        encoding = self.network.positional_encoding
        return np.zeros((self.network.tokens, self.network.stream_width)) if encoding is None else encoding

    def helpers_of(self, node: Node) -> tuple[int, ...]:
        """The helper channels of a node."""
        return self._helpers.get(node.number, ())

    @cached_property
    def _helpers(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, tuple[int, ...]] = {}
        for hint in self.hints:
            if hint.is_helper:
                found[hint.node] = (*found.get(hint.node, ()), hint.channel)
        return found
