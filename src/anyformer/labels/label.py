"""One label: what a place of a network, or a run of alike places, computes."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from anyformer.errors import LabelError
from anyformer.labels.place import KINDS, Kind, Place

Weights = tuple[tuple[int, float], ...]
"""(channel, weight) for every weight that is not 0."""


@dataclass(frozen=True)
class Label:
    """What is computed at layers `layers` of a stage, at indices `indices` there; both are half-open ranges.

    A unit with an `argument` u is max(slope·(u − kink), 0). The node of a channel is Σ weight·channel + constant, over
    what `reads` lists.
    """

    stage: int
    layers: tuple[int, int]
    kind: Kind
    indices: tuple[int, int]
    step: str
    """The kind of step in a word or two: "mean", "square", "product", "helper", "input", "quantise", "idle" …"""
    text: str
    """What is computed, for people."""
    nodes: tuple[str, ...] = ()
    """The steps of the program that it computes or serves, by name: "v3"."""
    proved: float | None = None
    """No input of the domain makes the network's value of the node differ from the exact one by more than this."""
    reads: Weights = ()
    """Of a unit: its row of W_1. Of a channel: how its node is read from the stream."""
    constant: float | tuple[float, ...] = 0.0
    """What is added to that: the unit's bias, or the reading's constant; one number a token where places differ."""
    writes: Weights = ()
    """Of a unit: its column of W_2, by channel."""
    argument: str | None = None
    """Of a unit: the u that it reads, in words."""
    slope: float | None = None
    kink: float | None = None
    """The u at which the unit wakes up."""
    kinks: tuple[float, ...] = ()
    """For a unit whose kink depends on the token's place: one a token. For a label of several units: one a unit."""

    def covers(self, place: tuple[int, int, str, int]) -> bool:
        """Whether the label speaks of this place."""
        stage, layer, kind, index = place
        return (
            (stage, kind) == (self.stage, self.kind)
            and self.layers[0] <= layer < self.layers[1]
            and self.indices[0] <= index < self.indices[1]
        )

    @property
    def first(self) -> Place:
        """The first place that it speaks of."""
        return Place(self.stage, self.layers[0], self.kind, self.indices[0])

    @property
    def count(self) -> int:
        """How many places it speaks of."""
        return (self.layers[1] - self.layers[0]) * (self.indices[1] - self.indices[0])

    def to_json(self) -> dict[str, Any]:
        """A JSON object, without the fields that say nothing. Numbers are decimal and lose no bit."""
        data = asdict(self)
        blank = {name: default for name, default in _DEFAULTS.items() if data[name] == default}
        return {name: value for name, value in data.items() if name not in blank}


_DEFAULTS = {field.name: field.default for field in fields(Label) if field.name not in ("stage", "layers", "kind")}
_PAIRS = ("layers", "indices")


def at(place: tuple[int, int, str, int], step: str, text: str, **more: Any) -> Label:
    """The label of one place."""
    stage, layer, kind, index = place
    assert kind in KINDS
    return Label(stage, (layer, layer + 1), kind, (index, index + 1), step, text, **more)


def label_from_json(data: Any, where: str) -> Label:
    """Read what `to_json` gave; a fault is reported by the field it is in."""
    names = {field.name for field in fields(Label)}
    required = {"stage", "layers", "kind", "indices", "step", "text"}
    if not isinstance(data, dict) or not required <= set(data) <= names:
        raise LabelError(
            f"{where} must have the fields of a label, at least {', '.join(sorted(required))}; got {data!r:.200}"
        )
    read = {name: _read(name, value, f"{where}.{name}") for name, value in data.items()}
    if read["kind"] not in KINDS:
        raise LabelError(f"{where}.kind must be one of {', '.join(KINDS)}; got {read['kind']!r:.200}")
    return Label(**read)


def _read(name: str, value: Any, where: str) -> Any:
    if name == "stage":
        return _whole(value, where, least=-1)
    if name in _PAIRS:
        ends = _list(value, where)
        if len(ends) != 2:
            raise LabelError(f"{where} must be a pair of whole numbers; got {value!r:.200}")
        return tuple(_whole(end, where) for end in ends)
    if name in ("kind", "step", "text", "argument"):
        if not isinstance(value, str):
            raise LabelError(f"{where} must be a text; got {value!r:.200}")
        return value
    if name == "nodes":
        if not all(isinstance(one, str) for one in _list(value, where)):
            raise LabelError(f"{where} must be a list of texts; got {value!r:.200}")
        return tuple(value)
    if name in ("reads", "writes"):
        return tuple(_weight(pair, where) for pair in _list(value, where))
    if name == "kinks" or (name == "constant" and isinstance(value, list)):
        return tuple(_number(one, where) for one in _list(value, where))
    return _number(value, where)


def _weight(pair: Any, where: str) -> tuple[int, float]:
    entries = _list(pair, where)
    if len(entries) != 2:
        raise LabelError(f"{where} must be pairs of a channel and a weight; got {pair!r:.200}")
    return _whole(entries[0], where), _number(entries[1], where)


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise LabelError(f"{where} must be a list; got {value!r:.200}")
    return value


def _whole(value: Any, where: str, least: int = 0) -> int:
    if type(value) is not int or value < least:
        raise LabelError(f"{where} must be a whole number from {least} up; got {value!r:.200}")
    return value


def _number(value: Any, where: str) -> float:
    if type(value) not in (int, float):
        raise LabelError(f"{where} must be a number; got {value!r:.200}")
    return float(value)
