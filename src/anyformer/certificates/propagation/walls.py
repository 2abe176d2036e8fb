"""The float64 program between the cells: does it stay finite there too, and what can it return?

The whole domain is followed as one box. A short stage is walked through layer by layer. In a long one that reads a
single coordinate t, such as a table of values, the checker looks for one interval that every layer maps into itself. It
examines all layers together, and by induction t never leaves the interval. Other coordinates gain at most what all
layers together may add. This is coarse but enough: the network's last stage, a clip, is short and is walked through
layer by layer.
"""

import enum

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.propagation.attention import enclose_attention
from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure, up
from anyformer.certificates.propagation.feed_forward import (
    enclose_feed_forward,
    images,
    only_coordinate_read,
)
from anyformer.certificates.propagation.gate import check_attention, check_feed_forward, largest, place, vigilant
from anyformer.certificates.propagation.propagate import with_positions
from anyformer.errors import NotShown
from anyformer.networks.dtypes import FLOAT64
from anyformer.networks.layers import AttentionStage, FeedForwardStage
from anyformer.networks.network import Network
from anyformer.networks.runs import runs
from anyformer.targets.domains import Domain

SHORT = 64
# How many layers are examined together.
AT_ONCE = 1 << 9
# How often an interval may grow before it holds its own images.
GROWTH = 8


class Reach(enum.Enum):
    """Where the claim is known to hold for the float64 program."""

    CELLS = "the cells"
    DOMAIN = "the whole domain"


def follow_domain(network: Network, domain: Domain, short: int = SHORT) -> Enclosure | None:
    """What the float64 program may return on the whole domain; None if it was not shown to stay finite.

    Stages of at most `short` layers are walked through. Other types than float64 are not followed between the cells.
    """
    if network.dtype != FLOAT64:
        return None
    shape = (1, network.tokens, network.width)
    ends = (np.broadcast_to(end, shape).copy() for end in (domain.lows(network.width), domain.highs(network.width)))
    try:
        with vigilant():
            x = with_positions(network, Enclosure.box(*ends))
            for k, stage in enumerate(network.stages):
                x = _attended(network, k, stage, x) if isinstance(stage, AttentionStage) else _fed(stage, x, short)
            return x.folded()
    except NotShown:
        return None


def _attended(network: Network, k: int, stage: AttentionStage, x: Enclosure) -> Enclosure:
    for layer, view in enumerate(network.views(k)):
        check_attention(stage[layer], x, place(stage, layer))
        x = enclose_attention(stage[layer], x, Arithmetic.FLOAT64_AND_REAL, view)
    return x


def _fed(stage: FeedForwardStage, x: Enclosure, short: int) -> Enclosure:
    shape = x.low.shape
    if len(stage) <= short:
        return enclose_feed_forward(stage, x.reshape(-1, shape[-1]), Arithmetic.FLOAT64_AND_REAL).reshape(*shape)
    box = x.reshape(-1, shape[-1]).folded()
    low, high = box.low.min(axis=0), box.high.max(axis=0)
    for run in runs(stage):
        coordinate = only_coordinate_read(stage, run)
        if coordinate is None:
            raise NotShown(f"{place(stage, run.start)} reads more than one coordinate")
        for start in range(run.start, run.stop, AT_ONCE):
            layers = range(start, min(start + AT_ONCE, run.stop))
            low, high = _held(stage, layers, coordinate, low, high)
    held = Enclosure.box(np.broadcast_to(low, shape).copy(), np.broadcast_to(high, shape).copy())
    check_feed_forward(stage, largest(held))
    return held


def _held(stage: FeedForwardStage, layers: range, coordinate: int, low: Array, high: Array) -> tuple[Array, Array]:
    """A box that holds a token before and after each of the layers, if it starts in the given one."""
    t_low, t_high = float(low[coordinate]), float(high[coordinate])
    for _ in range(GROWTH):
        least, most = images(stage, layers, coordinate, t_low, t_high)
        lowest, highest = float(least[:, coordinate].min()), float(most[:, coordinate].max())
        if t_low <= lowest and highest <= t_high:
            break
        room = 2.0**-20 * max(abs(t_low), abs(t_high), abs(lowest), abs(highest))
        t_low, t_high = min(t_low, lowest - room), max(t_high, highest + room)
    else:
        raise NotShown(f"{place(stage, layers.start)} begins a run of layers for which no invariant interval was found")
    low = low - up(np.maximum(-least, 0.0).sum(axis=0)) * (1 + 2.0**-30)
    high = high + up(np.maximum(most, 0.0).sum(axis=0)) * (1 + 2.0**-30)
    # Adding to a coordinate rounds once a layer.
    rounding = up(np.maximum(np.abs(low), np.abs(high)) * len(layers) * 2.0**-50)
    low, high = low - rounding, high + rounding
    low[coordinate], high[coordinate] = t_low, t_high
    return low, high
