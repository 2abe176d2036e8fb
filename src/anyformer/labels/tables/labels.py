"""The labels of a table: stages by their roles, layers by their weights.

A table may have millions of layers that differ only in their numbers. Where a stage has more than `MOST_LISTED`, one
label speaks of all of them, and a single one is made when it is asked for.
"""

from collections.abc import Iterator

import numpy as np

from anyformer.labels.label import Label, Weights, at
from anyformer.labels.place import EMBEDDING, Place
from anyformer.labels.tables.words import LayerWords, channel_words, head_words
from anyformer.networks.layers import AttentionStage, FeedForwardStage
from anyformer.networks.network import Network
from anyformer.networks.roles import Role

MOST_LISTED = 512


def table_labels(network: Network) -> Iterator[Label]:
    """A label for every stage, head, channel and hidden unit, or for many alike at once."""
    for channel in range(network.width):
        place = Place(EMBEDDING, 0, "channel", channel)
        where = "" if network.positional_encoding is None else ", moved into a slot of the token's place"
        yield at(place, "input", f"x{channel}, the input{where}", nodes=(f"x{channel}",))
    for k, stage in enumerate(network.stages):
        role, layers = stage.role.name.lower(), (0, len(stage))
        yield Label(k, layers, "stage", (0, 1), role, f"{stage.name}: {stage.role.value}")
        yield from _channels(network, k)
        yield from _heads(network, k, stage) if isinstance(stage, AttentionStage) else _units(network, k, stage)


def _channels(network: Network, k: int) -> Iterator[Label]:
    """What channels hold after the stage; within it they are on the way."""
    stage, last = network.stages[k], len(network.stages[k]) - 1
    step = stage.role.name.lower()
    if last:
        words = f"on the way of “{stage.name}”: {stage.role.value}"
        yield Label(k, (0, last), "channel", (0, network.width), step, words)
    for channel in range(network.width):
        yield at(Place(k, last, "channel", channel), step, channel_words(stage.role, channel))


def _heads(network: Network, k: int, stage: AttentionStage) -> Iterator[Label]:
    heads = stage.sizes["heads"]
    if len(stage) > MOST_LISTED:
        step = "selective shift" if stage.role is Role.SHIFT else "attention"
        yield Label(k, (0, len(stage)), "head", (0, heads), step, f"{stage.name}: {stage.role.value}")
        return
    for layer in range(len(stage)):
        for head in range(heads):
            yield head_label(network, Place(k, layer, "head", head))


def head_label(network: Network, place: Place) -> Label:
    """One head."""
    stage = network.stages[place.stage]
    assert isinstance(stage, AttentionStage)
    step, words = head_words(stage, place.layer, place.index, network.pattern is not None)
    W_O = stage.W_O[place.layer, place.index]
    writes = tuple((int(channel), float(W_O[channel].sum())) for channel in np.flatnonzero(W_O.any(axis=1)))
    return at(place, step, words, writes=writes)


def _units(network: Network, k: int, stage: FeedForwardStage) -> Iterator[Label]:
    if len(stage) > MOST_LISTED:
        hidden = stage.sizes["hidden_size"]
        words = f"{stage.name}: {stage.role.value}; `labels[place]` says which"
        yield Label(k, (0, len(stage)), "unit", (0, hidden), stage.role.name.lower(), words)
        return
    by_layer = LayerWords(network, k)
    for layer in range(len(stage)):
        for used, (start, stop) in _runs(stage.W_2[layer].any(axis=0).tolist()):
            yield _layer_label(stage, k, layer, (start, stop), by_layer if used else None)


def _layer_label(
    stage: FeedForwardStage, k: int, layer: int, units: tuple[int, int], words: LayerWords | None
) -> Label:
    """Some units of a layer together: all that write something, or all that do not."""
    if words is None:
        return Label(k, (layer, layer + 1), "unit", units, "idle", "writes nothing")
    kinks = tuple(_looking(stage, layer, unit)[2] for unit in range(*units))
    step = stage.role.name.lower()
    return Label(k, (layer, layer + 1), "unit", units, step, f"{stage.name}: {words.of(layer)}", kinks=kinks)


def unit_label(network: Network, place: Place) -> Label:
    """One hidden unit."""
    stage = network.stages[place.stage]
    assert isinstance(stage, FeedForwardStage)
    column = stage.W_2[place.layer, :, place.index]
    if not column.any():
        return at(place, "idle", "writes nothing")
    argument, slope, kink = _looking(stage, place.layer, place.index)
    return at(
        place,
        stage.role.name.lower(),
        f"{stage.name}: {LayerWords(network, place.stage).of(place.layer)}",
        reads=_weights(stage.W_1[place.layer, place.index]),
        constant=float(stage.b_1[place.layer, place.index]),
        writes=_weights(column),
        argument=argument,
        slope=slope,
        kink=kink,
    )


def _looking(stage: FeedForwardStage, layer: int, unit: int) -> tuple[str, float, float]:
    """The unit is max(slope·(u − kink), 0): u in words, the slope and the kink."""
    row, bias = stage.W_1[layer, unit], float(stage.b_1[layer, unit])
    read = np.flatnonzero(row)
    if len(read) == 1:
        slope = float(row[read[0]])
        return f"coordinate {read[0]}", slope, -bias / slope + 0.0
    words = " + ".join(f"{row[channel]:g}·coordinate {channel}" for channel in read) or "nothing"
    return words, 1.0, -bias + 0.0


def _weights(row: np.ndarray) -> Weights:
    return tuple((int(channel), float(row[channel])) for channel in np.flatnonzero(row))


def _runs(flags: list[bool]) -> Iterator[tuple[bool, tuple[int, int]]]:
    """Runs of equal flags, with where they start and stop."""
    start = 0
    for stop in range(1, len(flags) + 1):
        if stop == len(flags) or flags[stop] != flags[start]:
            yield flags[start], (start, stop)
            start = stop
