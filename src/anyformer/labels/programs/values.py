"""The values at every place of a network that computes a program.

The exact stream holds in every channel what it would hold if each node were exact: node = Σ weight·channel + constant
is solved for the channel that the node's layer writes. A helper channel is what its units make of the exact stream.
"""

from functools import cached_property

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.layers import FeedForward
from anyformer.errors import LabelError
from anyformer.labels.place import Place
from anyformer.labels.programs.facts import ProgramFacts
from anyformer.labels.values import Pair, Values
from anyformer.networks.evaluate import add_positions, apply_attention, apply_feed_forward, embed, read_out
from anyformer.networks.layers import AttentionLayer
from anyformer.programs.forms import Node
from anyformer.programs.text import name_of
from anyformer.programs.values import node_values
from anyformer.targets.target import Target


class ProgramValues(Values):
    """Node by node, channel by channel, unit by unit."""

    def __init__(self, facts: ProgramFacts, target: Target, x: Array) -> None:
        super().__init__(facts.network, x)
        self.facts, self.target = facts, target

    @cached_property
    def nodes(self) -> dict[Node, Array]:
        """The exact value of every node of the program, (batch, tokens)."""
        return node_values(self.facts.program, self.x)

    def node(self, name: str) -> Pair:
        """A step of the program by its name, such as "v3" or "x0", where the network has it in its stream."""
        known = {name_of(node): node for node in self.facts.bound.readings}
        if name not in known:
            raise LabelError(f"a step must be one of {', '.join(known)}; got {name!r}.")
        return self._node(known[name])

    @property
    def output(self) -> Pair:
        """The target's value and the network's."""
        return Pair(self.target(self.x), read_out(self.network, self._final) + 0.0)

    def network_stream(self, stage: int, layer: int) -> Array:
        """The stream before a layer."""
        before = sum(len(one) for one in self.network.stages[:stage]) + layer
        return self._network_streams[before]

    def exact_stream(self, stage: int, layer: int) -> Array:
        """The exact stream before a layer."""
        before = sum(len(one) for one in self.network.stages[:stage]) + layer
        return self._exact_streams[before]

    @cached_property
    def _network_streams(self) -> list[Array]:
        network, dtype = self.network, self.network.dtype
        streams = [add_positions(network, embed(network, self.x))]
        for k, stage in enumerate(network.stages):
            for index, view in enumerate(network.views(k)):
                layer = stage[index]
                if isinstance(layer, AttentionLayer):
                    streams.append(apply_attention(layer, streams[-1], view, dtype))
                else:
                    streams.append(apply_feed_forward(layer, streams[-1], dtype))
        return streams

    @cached_property
    def _exact_streams(self) -> list[Array]:
        stream = self.x @ self.facts.W_E.T + self.facts.positions
        streams = [stream]
        writing = {(layer.stage, layer.last): k for k, layer in enumerate(self.facts.layers)}
        for s, stage in enumerate(self.network.stages):
            for index in range(len(stage)):
                if (s, index) in writing:
                    stream = self._written(stream, writing[s, index])
                streams.append(stream)
        return streams

    def _written(self, stream: Array, number: int) -> Array:
        """The exact stream after a layer of the checker's."""
        after, layer = stream.copy(), self.facts.layers[number].layer
        for hint in self.facts.hints:
            if hint.layer != number:
                continue
            if hint.is_helper:
                assert isinstance(layer, FeedForward)
                awake = np.maximum(stream @ layer.W_1.T + layer.b_1, 0.0)
                after[..., hint.channel] = awake @ layer.W_2[hint.channel] + layer.b_2[hint.channel]
                continue
            node = self.facts.nodes[hint.node]
            reading = self.facts.bound.readings[node]
            # The node's own channel is still 0 in `stream`, and has weight 1.
            rest = stream @ np.asarray(reading.row.value) + np.asarray(reading.constant.value)
            after[..., hint.channel] = self.nodes[node] - rest
        return after

    @property
    def _final(self) -> Array:
        return self._network_streams[-1]

    def _channel(self, place: Place) -> Pair:
        """The node that a channel holds; the channel itself where it holds none."""
        node = self._holds.get(place.index)
        if node is None or (place.stage, place.layer) != self._written_at[place.index]:
            return super()._channel(place)
        return self._node(node)

    def _node(self, node: Node) -> Pair:
        # Channels are written once, so that the last stream has all of them.
        reading = self.facts.bound.readings[node]
        held = self._final @ np.asarray(reading.row.value) + np.asarray(reading.constant.value)
        return Pair(self.nodes[node], held)

    @cached_property
    def _holds(self) -> dict[int, Node]:
        return {hint.channel: self.facts.nodes[hint.node] for hint in self.facts.hints if not hint.is_helper}

    @cached_property
    def _written_at(self) -> dict[int, tuple[int, int]]:
        layers = self.facts.layers
        return {hint.channel: (layers[hint.layer].stage, layers[hint.layer].last) for hint in self.facts.hints}

    def _head(self, place: Place) -> Pair:
        """Exactly, the nodes that a head computes in their channels; the channels are 0 before."""
        added = np.zeros_like(self._final)
        for number, layer in enumerate(self.facts.layers):
            if place in layer.places:
                head, after = layer.places.index(place), self.exact_stream(layer.stage, layer.last + 1)
                for hint in self.facts.hints:
                    if (hint.layer, hint.head) == (number, head):
                        added[..., hint.channel] = after[..., hint.channel]
        return Pair(added, self._added(place, self.network_stream(place.stage, place.layer)))
