"""One input on its way through a compiled network, step by step: what each step should be, and what the network has."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import Array, as_sequences
from anyformer.certificates.claims.certificate import Certificate
from anyformer.certificates.programs.bound import bound_of_program
from anyformer.networks.evaluate import add_positions, apply_stage, embed, read_out
from anyformer.networks.network import Network
from anyformer.programs.forms import Node
from anyformer.programs.text import formula, name_of
from anyformer.programs.tracing import trace as trace_target
from anyformer.programs.values import node_values
from anyformer.targets.target import Target

Tokens = tuple[float, ...]


@dataclass(frozen=True)
class StepTrace:
    """A step: its formula, where it lives, its exact values and the network's for every token, the proved error."""

    name: str
    formula: str
    layer: int
    head: int | None
    channel: int
    exact: Tokens
    network: Tokens
    proved: float

    @property
    def largest_difference(self) -> float:
        """The largest distance of the two, over the tokens."""
        return float(np.abs(np.array(self.exact) - np.array(self.network)).max())


@dataclass(frozen=True)
class ProgramTrace:
    """An input's whole way through a program."""

    input: tuple[Tokens, ...]
    leaves_domain: bool
    steps: tuple[StepTrace, ...]
    output: tuple[Tokens, ...]
    expected: tuple[Tokens, ...]
    proved: float
    """The proved bound of every entry's error."""

    @property
    def largest_difference(self) -> float:
        """max |f − g| over the entries."""
        return float(np.abs(np.array(self.expected) - np.array(self.output)).max())


def trace_program(network: Network, certificate: Certificate, target: Target, x: ArrayLike) -> ProgramTrace:
    """Walk one sequence of shape (tokens, width) through every step, deriving the error of each again.

    Args:
        network: the weights.
        certificate: its hints say where each step lives.
        target: the function, which is traced.
        x: the sequence.
    """
    given = as_sequences(np.asarray(x, dtype=np.float64)[None], network.tokens, network.width)
    sequence = network.dtype.rounded(given)
    program = trace_target(target)
    found = bound_of_program(program, network, certificate.hints)
    exact, state = node_values(program, sequence), _stream(network, sequence)
    places = {hint.node: hint for hint in certificate.hints if not hint.is_helper}
    steps = [
        StepTrace(
            name=name_of(node),
            formula=formula(node, places),
            layer=places[node.number].layer,
            head=places[node.number].head,
            channel=places[node.number].channel,
            exact=_tokens(exact[node], network.tokens),
            network=_tokens(_held(node, found.readings[node], state), network.tokens),
            proved=found.nodes[node].absolute,
        )
        for node in sorted(found.own, key=lambda node: (places[node.number].layer, node.number))
    ]
    domain = target.domain
    outside = (sequence < domain.lows(target.width)) | (sequence > domain.highs(target.width))
    return ProgramTrace(
        input=_rows(sequence[0]),
        leaves_domain=bool(outside.any()),
        steps=tuple(steps),
        output=_rows(read_out(network, state[None])[0]),
        expected=_rows(target(sequence)[0]),
        proved=found.largest,
    )


def _stream(network: Network, sequence: Array) -> Array:
    """The residual stream after the last layer, (tokens, stream width). Channels are written once, so it holds all."""
    state = add_positions(network, embed(network, sequence))
    for k, stage in enumerate(network.stages):
        state = apply_stage(stage, state, network.views(k), network.dtype)
    return np.asarray(state[0])


def _held(node: Node, reading: object, state: Array) -> Array:
    row, constant = reading.row.value, reading.constant.value  # type: ignore[attr-defined]
    return np.asarray(state @ row + constant)


def _tokens(values: Array, tokens: int) -> Tokens:
    return tuple(float(value) for value in np.broadcast_to(np.ravel(values), (tokens,)))


def _rows(values: Array) -> tuple[Tokens, ...]:
    return tuple(tuple(map(float, row)) for row in values)
