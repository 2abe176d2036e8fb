"""The values at every place of a network for given inputs: what they should be, and what the network has."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import LabelError
from anyformer.labels.place import EMBEDDING, KINDS, Place
from anyformer.networks.layers import AttentionLayer, AttentionStage, FeedForwardLayer
from anyformer.networks.network import Network


@dataclass(frozen=True, eq=False)
class Pair:
    """The exact values and the network's, of one shape that begins with (batch, tokens). NaN: no exact value."""

    exact: Array
    network: Array

    @property
    def largest_difference(self) -> float:
        """max |exact − network|, where there is an exact value; 0 if there is none."""
        apart = np.abs(self.exact - self.network)
        return float(np.max(apart, initial=0.0, where=~np.isnan(apart)))


class Values(ABC):
    """What `labels.values(x)` gives. `of(place)` has shapes

    - channel: (batch, tokens), the value of its node, or of the channel itself where it holds no node;
    - head: (batch, tokens, stream width), what it adds to the stream;
    - unit: (batch, tokens), after the activation; `before(place)` is before it;
    - stage: (batch, tokens, stream width), the stream after the stage; stage −1 is the embedding.
    """

    def __init__(self, network: Network, x: Array) -> None:
        self.network, self.x = network, x

    @abstractmethod
    def network_stream(self, stage: int, layer: int) -> Array:
        """The stream before a layer, (batch, tokens, stream width); after the stage for the number of its layers."""

    @abstractmethod
    def exact_stream(self, stage: int, layer: int) -> Array:
        """The same as it should be."""

    @property
    @abstractmethod
    def output(self) -> Pair:
        """The target's value and the network's, (batch, tokens, width)."""

    def of(self, place: tuple[int, int, str, int]) -> Pair:
        """The values at a place: (stage, layer, kind, index)."""
        found = self._checked(place)
        match found.kind:
            case "channel":
                return self._channel(found)
            case "unit":
                before = self.before(found)
                return Pair(np.maximum(before.exact, 0.0), np.maximum(before.network, 0.0))
            case "head":
                return self._head(found)
        return self._after(found.stage)

    def before(self, place: tuple[int, int, str, int]) -> Pair:
        """What a hidden unit has before its activation: W_1·stream + b_1."""
        found = self._checked(place)
        if found.kind != "unit":
            raise LabelError(f"{found} must be a hidden unit: only these have a value before an activation. Ask `of`.")
        layer = self.network.stages[found.stage][found.layer]
        assert isinstance(layer, FeedForwardLayer)
        W_1, b_1 = layer.W_1[found.index], layer.b_1[found.index]
        return Pair(*(stream @ W_1 + b_1 for stream in self._streams(found)))

    def attention(self, place: tuple[int, int, str, int]) -> Pair:
        """The attention weights of a head, (batch, queries, keys): on the stream as it should be, and as it is."""
        found = self._checked(place)
        if found.kind != "head":
            raise LabelError(f"{found} must be a head: nothing else has attention weights.")
        return Pair(*(self._weights(found, stream) for stream in self._streams(found)))

    def _streams(self, place: Place) -> tuple[Array, Array]:
        return self.exact_stream(place.stage, place.layer), self.network_stream(place.stage, place.layer)

    def _after(self, stage: int) -> Pair:
        """The stream after a stage."""
        if stage == EMBEDDING:
            return Pair(self.exact_stream(0, 0), self.network_stream(0, 0))
        layers = len(self.network.stages[stage])
        return Pair(self.exact_stream(stage, layers), self.network_stream(stage, layers))

    def _channel(self, place: Place) -> Pair:
        """What a channel holds after its layer."""
        if place.stage == EMBEDDING:
            after = self._after(EMBEDDING)
        else:
            where = place.stage, place.layer + 1
            after = Pair(self.exact_stream(*where), self.network_stream(*where))
        return Pair(after.exact[..., place.index], after.network[..., place.index])

    def _head(self, place: Place) -> Pair:
        return Pair(*(self._added(place, stream) for stream in self._streams(place)))

    def _added(self, place: Place, stream: Array) -> Array:
        """What a head adds to the stream."""
        layer = self._attention_layer(place)
        mixed = self._weights(place, stream) @ (stream @ layer.W_V[place.index].T)
        return np.asarray(mixed @ layer.W_O[place.index].T)

    def _weights(self, place: Place, stream: Array) -> Array:
        layer, h = self._attention_layer(place), place.index
        queries, keys = stream @ layer.W_Q[h].T + layer.b_Q[h], stream @ layer.W_K[h].T
        scores = queries @ keys.swapaxes(-1, -2)
        view = self.network.views(place.stage)[place.layer]
        if view is None:
            return np.asarray(layer.probability_map(scores))
        seen, weights = view[h % len(view)], np.zeros_like(scores)
        for query in range(seen.tokens):
            chosen = seen.keys_of(query)
            weights[:, query, chosen] = layer.probability_map(scores[:, query, chosen])
        return np.asarray(weights)

    def _attention_layer(self, place: Place) -> AttentionLayer:
        layer = self.network.stages[place.stage][place.layer]
        assert isinstance(layer, AttentionLayer)
        return layer

    def _checked(self, place: tuple[int, int, str, int]) -> Place:
        found = Place(*place)
        if not self._exists(found):
            raise LabelError(f"{found} must be a place of the network, with a kind of {', '.join(KINDS)}; it has none.")
        return found

    def _exists(self, place: Place) -> bool:
        stages = self.network.stages
        if place.kind not in KINDS or not EMBEDDING <= place.stage < len(stages):
            return False
        if place.stage == EMBEDDING:
            sizes = {"stage": 1, "channel": self.network.stream_width}
            return place.layer == 0 and 0 <= place.index < sizes.get(place.kind, 0)
        stage = stages[place.stage]
        own = (
            {"head": stage.sizes["heads"]}
            if isinstance(stage, AttentionStage)
            else {"unit": stage.sizes["hidden_size"]}
        )
        sizes = {"stage": 1, "channel": self.network.stream_width, **own}
        return 0 <= place.layer < len(stage) and 0 <= place.index < sizes.get(place.kind, 0)
