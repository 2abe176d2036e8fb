"""A proved bound of the largest error of a compiled network, from its weights, the program and hints that are not
trusted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyformer.certificates.programs.along import Units
from anyformer.certificates.programs.errors import UP, Error
from anyformer.certificates.programs.heads import head_error
from anyformer.certificates.programs.helpers import Helper, helped_error, helper_of
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.programs.layers import Attention, FeedForward, joined_layers
from anyformer.certificates.programs.overflow import check_no_overflow
from anyformer.certificates.programs.stream import Reading, Stream, must
from anyformer.certificates.programs.units import Computed, units_error
from anyformer.errors import LeavesDomain, NotShown
from anyformer.networks.layers import AttentionStage
from anyformer.networks.network import Network
from anyformer.networks.probability_maps import Softmax
from anyformer.programs.forms import Node
from anyformer.programs.program import Program
from anyformer.programs.steps import Maximum, Minimum


@dataclass(frozen=True, eq=False)
class ProgramBound:
    """No entry of the output is off by more than `largest`, for any input of the domain, in real arithmetic and as
    float64 computes it; and the same for every node that the network computes."""

    largest: float
    nodes: dict[Node, Error]
    own: dict[Node, Error]
    readings: dict[Node, Reading]
    """How each node is read from the stream."""


def bound_of_program(
    program: Program, network: Network, hints: Sequence[Hint], stream: Stream | None = None
) -> ProgramBound:
    """Walk through the layers, and note what each channel turns out to be.

    `stream` is one of the network at its start, if it is read in another way than `Stream` has it.
    Raises NotShown if a weight belongs to no claim, or a claim is not one that the weights bear out.
    """
    try:
        with np.errstate(all="ignore"):  # a bound that overflows is infinite, and refused
            return _walked(stream or Stream(program, network), network, hints)
    except (LeavesDomain, OverflowError) as error:
        raise NotShown(f"the weights do not show that every step has a value: {error}") from error


def _walked(stream: Stream, network: Network, hints: Sequence[Hint]) -> ProgramBound:
    program = stream.program
    for stage in network.stages:
        if isinstance(stage, AttentionStage):
            must(stage.probability_map == Softmax(), "attention is softmax")
    must(network.is_soft, "the network is a softmax and ReLU network")
    walk = _Walk(stream)
    layers = joined_layers(network)
    must(all(0 <= hint.layer < len(layers) for hint in hints), "hints name layers that exist")
    must(all(0 <= hint.node < len(program.nodes) for hint in hints), "hints name steps that exist")
    must(all(0 <= hint.channel < network.stream_width for hint in hints), "hints name channels that exist")
    must(all(np.isfinite([*hint.slopes, hint.constant, hint.stretch]).all() for hint in hints), "hints are finite")
    for k, layer in enumerate(layers):
        claims = [hint for hint in hints if hint.layer == k]
        must(len({hint.channel for hint in claims}) == len(claims), "a channel becomes one node")
        if isinstance(layer, Attention):
            walk.attention(layer, claims)
        else:
            walk.feed_forward(layer, claims)
    check_no_overflow(network, walk.stream.reach)
    return ProgramBound(float(walk.read_out(network)), walk.stream.errors.of, walk.own, walk.stream.readings)


class _Walk:
    def __init__(self, stream: Stream) -> None:
        self.stream, self.nodes = stream, stream.program.nodes
        self.own: dict[Node, Error] = {}
        self.helpers: dict[int, Helper] = {}
        self.minima: dict[Node, list[Node]] = {}
        for node in self.nodes:
            # A minimum that is a curve has units of its own: its error is counted from its root, not from a and b.
            if isinstance(node.step, Minimum) and stream.ranges.roots.of(node) is None:
                self.minima.setdefault(next(iter(node.args[2].terms)), []).append(node)

    def attention(self, layer: Attention, claims: list[Hint]) -> None:
        must(set(np.flatnonzero(layer.writes)) <= {hint.channel for hint in claims}, "every head's output is claimed")
        found = []
        for hint in claims:
            must(not hint.is_helper and not hint.helpers, "helpers are made by hidden units")
            must(hint.head is not None and 0 <= hint.head < len(layer.heads), "a claim names a head")
            assert hint.head is not None
            writers = [k for k, head in enumerate(layer.heads) if head.W_O[hint.channel].any()]
            must(writers == [hint.head], "one head writes a channel")
            node = self.nodes[hint.node]
            must(node.step.mixes, f"{node} is done by a head")
            found.append((hint, node, head_error(self.stream, layer.heads[hint.head], node, hint.channel)))
        # All heads of a layer read the stream as it was before.
        for hint, node, (reading, own, magnitude) in found:
            self._note(hint.channel, magnitude + own, node, reading, Error(own * UP))

    def feed_forward(self, layer: FeedForward, claims: list[Hint]) -> None:
        must(set(np.flatnonzero(layer.writes)) <= {hint.channel for hint in claims}, "every unit's output is claimed")
        found: list[tuple[Hint, Helper | Computed]] = []
        for hint in claims:
            must(hint.head is None, "hidden units are no head")
            which = np.flatnonzero(layer.W_2[hint.channel])
            weights, shift = layer.W_2[hint.channel, which], float(layer.b_2[hint.channel])
            units = Units(layer.W_1[which], layer.b_1[which], weights, shift, layer.parts)
            found.append((hint, self._computed(units, hint)))
        for hint, computed in found:
            node = self.nodes[hint.node]
            if isinstance(computed, Helper):
                self.stream.write(hint.channel, computed.magnitude)
                self.helpers[hint.channel] = computed
            else:
                self._note(hint.channel, computed.magnitude, node, computed.reading, computed.own)

    def _computed(self, units: Units, hint: Hint) -> Helper | Computed:
        stream, node = self.stream, self.nodes[hint.node]
        if hint.is_helper:
            return helper_of(stream, units, node, hint, self.helpers)
        if hint.helpers:
            return helped_error(stream, units, node, hint, self.helpers)
        return units_error(stream, units, node, hint)

    def _note(self, channel: int, magnitude: float, node: Node, reading: Reading, own: Error) -> None:
        stream = self.stream
        stream.write(channel, magnitude)
        stream.record(node, reading, own)
        self.own[node] = own
        if isinstance(node.step, Maximum):
            # min(a, b) = a + b − max(a, b), as near to it as the maximum is to its own.
            for least in self.minima.get(node, []):
                a, b = (stream.of(form) for form in least.args[:2])
                stream.record(least, a + b + reading.scaled(-1.0), own)

    def read_out(self, network: Network) -> float:
        stream, worst = self.stream, 0.0
        W_R = np.eye(network.width) if network.W_R is None else network.W_R
        b_R = np.zeros(network.width) if network.b_R is None else network.b_R
        for row, bias, form in zip(W_R, b_R, stream.program.outputs, strict=True):
            apart = stream.apart(stream.read(row, float(bias)), stream.of(form))
            rounding = stream.rounding(row, float(bias))
            error = (stream.errors.form(form).absolute + apart + rounding) * UP
            must(np.isfinite(error), "the error is finite")
            worst = max(worst, error)
        return worst
