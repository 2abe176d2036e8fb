"""Where the checker's layers are in a network: it leaves idle layers out and joins what was cut."""

from dataclasses import dataclass

import numpy as np

from anyformer.certificates.programs.layers import Attention, FeedForward, joined_layers
from anyformer.labels.place import Place
from anyformer.networks.layers import AttentionLayer, Layer
from anyformer.networks.network import Network


@dataclass(frozen=True, eq=False)
class PlacedLayer:
    """A layer as the checker sees it: the layers of a stage that it is made of, and where each head or unit is."""

    layer: Attention | FeedForward
    stage: int
    first: int
    last: int
    places: tuple[Place, ...]

    def channel(self, channel: int) -> Place:
        """A channel that this layer writes, at the last of its layers: from there on it holds all of its number."""
        return Place(self.stage, self.last, "channel", channel)


def placed_layers(network: Network) -> list[PlacedLayer]:
    """All layers of `joined_layers`, each with the places of its heads or units, in the same order."""
    busy = ((k, index, stage[index]) for k, stage in enumerate(network.stages) for index in range(len(stage)))
    working = iter([(k, index, found) for k, index, layer in busy if (found := _working(layer)) is not None])
    placed = []
    for layer in joined_layers(network):
        kind = "head" if isinstance(layer, Attention) else "unit"
        parts = [next(working) for _ in range(layer.parts)]
        places = tuple(Place(k, index, kind, one) for k, index, found in parts for one in found)
        placed.append(PlacedLayer(layer, parts[0][0], parts[0][1], parts[-1][1], places))
    return placed


def _working(layer: Layer) -> list[int] | None:
    """The heads or units of a layer that write something; None if the layer does nothing at all."""
    if isinstance(layer, AttentionLayer):
        return [h for h, W_O in enumerate(layer.W_O) if W_O.any()] or None
    if not (layer.W_2.any() or layer.b_2.any()):
        return None
    return [int(unit) for unit in np.flatnonzero(layer.W_2.any(axis=0))]
