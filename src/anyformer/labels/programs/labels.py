"""The labels of a network that computes a program: compiled, or an interpolant's.

Nothing is believed: the checker walks through the weights first, and what it refuses has no labels. Directions, kinks
and readings are then read off the weights that it has accepted.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.programs.layers import Attention, FeedForward
from anyformer.labels.label import Label, Weights, at
from anyformer.labels.place import EMBEDDING, Place
from anyformer.labels.programs.facts import ProgramFacts
from anyformer.labels.programs.layer_places import PlacedLayer
from anyformer.labels.programs.positions import position_words
from anyformer.labels.programs.steps import said, step_of
from anyformer.networks.layers import AttentionStage
from anyformer.programs.text import name_of, text

Thing = TypeVar("Thing")


def program_labels(facts: ProgramFacts) -> Iterator[Label]:
    """A label for every stage, head, channel and hidden unit."""
    yield from _embedding(facts)
    for k, layer in enumerate(facts.layers):
        claims = [hint for hint in facts.hints if hint.layer == k]
        yield from (_channel(facts, layer, hint) for hint in claims)
        yield from _heads(facts, layer, claims) if isinstance(layer.layer, Attention) else _units(facts, layer, claims)
    yield from _idle(facts)
    yield from _stages(facts)


def program_outputs(facts: ProgramFacts) -> tuple[str, ...]:
    """The formula of every output coordinate."""
    return tuple(text(form, facts.computed) for form in facts.program.outputs)


def _embedding(facts: ProgramFacts) -> Iterator[Label]:
    W_E, positions = facts.W_E, facts.positions
    written = {hint.channel for hint in facts.hints}
    for channel in range(facts.network.stream_width):
        place = Place(EMBEDDING, 0, "channel", channel)
        reads = ((channel, 1.0),)
        if W_E[channel].any():
            name = f"x{int(np.flatnonzero(W_E[channel])[0])}"
            yield at(place, "input", f"{name}, the input", nodes=(name,), proved=0.0, reads=reads)
        elif positions[:, channel].any():
            column = tuple(positions[:, channel].tolist())
            yield at(place, "position", position_words(positions[:, channel]), constant=column, proved=0.0)
        elif channel not in written:
            yield at(place, "idle", "always 0")


def _channel(facts: ProgramFacts, layer: PlacedLayer, hint: Hint) -> Label:
    node, place = facts.nodes[hint.node], layer.channel(hint.channel)
    if hint.is_helper:
        words = f"helps to compute {name_of(node)} in a later layer"
        return at(place, "helper", words, nodes=(name_of(node),), reads=((hint.channel, 1.0),))
    reading = facts.bound.readings[node]
    constant = np.asarray(reading.constant.value, dtype=np.float64)
    return at(
        place,
        step_of(node, facts.roots),
        said(node, facts.computed),
        nodes=(name_of(node),),
        proved=float(facts.bound.nodes[node].absolute),
        reads=_weights(np.asarray(reading.row.value)),
        constant=float(constant) if constant.ndim == 0 else tuple(constant.tolist()),
    )


def _heads(facts: ProgramFacts, layer: PlacedLayer, claims: list[Hint]) -> Iterator[Label]:
    for number, place in enumerate(layer.places):
        nodes = [facts.nodes[hint.node] for hint in claims if hint.head == number]
        steps = sorted({step_of(node, facts.roots) for node in nodes})
        yield at(
            place,
            " and ".join(steps),
            "; ".join(said(node, facts.computed) for node in nodes),
            nodes=tuple(map(name_of, nodes)),
            proved=max(float(facts.bound.nodes[node].absolute) for node in nodes),
            writes=tuple((hint.channel, 1.0) for hint in claims if hint.head == number),
        )


def _units(facts: ProgramFacts, layer: PlacedLayer, claims: list[Hint]) -> Iterator[Label]:
    feeding, by_channel = layer.layer, {hint.channel: hint for hint in claims}
    assert isinstance(feeding, FeedForward)
    for unit, place in enumerate(layer.places):
        served = [by_channel[int(channel)] for channel in np.flatnonzero(feeding.W_2[:, unit])]
        yield _unit(facts, place, served, feeding.W_1[unit], float(feeding.b_1[unit]), feeding.W_2[:, unit])


def _unit(facts: ProgramFacts, place: Place, served: list[Hint], row: Array, bias: float, column: Array) -> Label:
    nodes = _distinct([facts.nodes[hint.node] for hint in served])
    looking = facts.arguments.looking(row, bias, nodes[0], served[0], facts.helpers_of(nodes[0]))
    names = tuple(map(name_of, nodes))
    kink = "a kink that depends on the place" if looking.kink is None else f"a kink at {looking.kink:.6g}"
    words = f"serves {', '.join(names)}: reads {looking.argument}, with {kink}"
    return at(
        place,
        step_of(nodes[0], facts.roots),
        f"{words}, and is awake {'above' if looking.slope > 0 else 'below'} it",
        nodes=names,
        reads=_weights(row),
        constant=bias,
        writes=_weights(column),
        argument=looking.argument,
        slope=looking.slope,
        kink=looking.kink,
        kinks=looking.kinks,
    )


def _idle(facts: ProgramFacts) -> Iterator[Label]:
    """Heads and units that write nothing: they fill a layer up to the size of its stage."""
    busy = {place for layer in facts.layers for place in layer.places}
    for k, stage in enumerate(facts.network.stages):
        kind = "head" if isinstance(stage, AttentionStage) else "unit"
        for layer in range(len(stage)):
            for index in range(stage.sizes["heads" if kind == "head" else "hidden_size"]):
                if (place := Place(k, layer, kind, index)) not in busy:
                    yield at(place, "idle", "writes nothing")


def _stages(facts: ProgramFacts) -> Iterator[Label]:
    for k, stage in enumerate(facts.network.stages):
        here = {number for number, layer in enumerate(facts.layers) if layer.stage == k}
        nodes = _distinct([facts.nodes[hint.node] for hint in facts.hints if hint.layer in here])
        steps = _distinct([step_of(node, facts.roots) for node in nodes])
        words = f"{stage.name}: computes {', '.join(steps)}" if nodes else f"{stage.name}: does nothing"
        names = tuple(map(name_of, nodes))
        yield Label(k, (0, len(stage)), "stage", (0, 1), ", ".join(steps) or "idle", words, nodes=names)


def _weights(row: Array) -> Weights:
    return tuple((int(channel), float(row[channel])) for channel in np.flatnonzero(row))


def _distinct(values: "Iterable[Thing]") -> "list[Thing]":
    """Each once, in the order in which they come first."""
    return list(dict.fromkeys(values))
