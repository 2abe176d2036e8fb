"""Following sets of inputs through a whole network."""

import numpy as np

from anyformer.certificates.propagation.attention import enclose_attention
from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure, affine
from anyformer.certificates.propagation.feed_forward import enclose_feed_forward
from anyformer.certificates.propagation.gate import check_attention, check_weights, place, vigilant
from anyformer.networks.layers import AttentionStage, Stage
from anyformer.networks.network import Network, View
from anyformer.networks.runs import Layers


def propagate(
    network: Network,
    x: Enclosure,
    arithmetic: Arithmetic | None = None,
    layers: Layers = Layers.AWAKE,
) -> Enclosure:
    """Enclose the network's output on each of the given boxes of inputs, of shape (batch, tokens, width).

    In real arithmetic and for the program in the network's own type, unless an arithmetic is named. Raises NotShown for
    a network that cannot be followed: see `gate`.
    """
    check_weights(network)
    with vigilant():
        start = with_positions(network, x, arithmetic)
        return propagate_stages(network, range(len(network.stages)), start, arithmetic, layers)


def with_positions(network: Network, x: Enclosure, arithmetic: Arithmetic | None = None) -> Enclosure:
    """X + E, or X where the network has no positions."""
    if network.positional_encoding is None:
        return x
    arithmetic = arithmetic or Arithmetic.of(network.dtype)
    return affine(np.ones(1), x.reshape(*x.low.shape, 1), network.positional_encoding, arithmetic)


def propagate_stages(
    network: Network,
    stages: range,
    x: Enclosure,
    arithmetic: Arithmetic | None = None,
    layers: Layers = Layers.AWAKE,
) -> Enclosure:
    """Enclose what some of the network's stages make of x, one after the other."""
    arithmetic = arithmetic or Arithmetic.of(network.dtype)
    for k in stages:
        x = propagate_stage(network.stages[k], x, arithmetic, layers, network.views(k))
    return x


def before_mixing(network: Network) -> range:
    """The stages before the first attention, in which tokens do not affect each other."""
    return range(next((k for k, stage in enumerate(network.stages) if isinstance(stage, AttentionStage)), 0))


def propagate_stage(
    stage: Stage,
    x: Enclosure,
    arithmetic: Arithmetic,
    layers: Layers = Layers.AWAKE,
    views: list[View] | None = None,
) -> Enclosure:
    """Enclose the output of one stage; `views` says which keys each attention layer may look at, if not all."""
    if isinstance(stage, AttentionStage):
        for k in range(len(stage)):
            if arithmetic.covers_program:
                check_attention(stage[k], x, place(stage, k), arithmetic)
            x = enclose_attention(stage[k], x, arithmetic, None if views is None else views[k])
        return x
    return enclose_feed_forward(stage, x.reshape(-1, x.low.shape[-1]), arithmetic, layers).reshape(*x.low.shape)
