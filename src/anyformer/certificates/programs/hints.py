"""Hints: which channel is to become which node. The checker trusts none of them; a wrong one makes it refuse."""

import math
from dataclasses import dataclass
from typing import Any

from anyformer.errors import CertificateError
from anyformer.strict_json import float_from_hex, to_hex


@dataclass(frozen=True)
class Hint:
    """The node of this number is channel + Σ slope·argument + Σ slope·helper + constant, from layer `layer` on.

    The arguments of a node with a root are its root alone. Layers are counted after cutting is undone (`layers`).
    head: which head writes the channel; None for a feed-forward layer.
    stretch: the λ of a product, computed as ¼(λa + b/λ)² − ¼(λa − b/λ)²; its arguments are the two sums.
    is_helper: the channel is not the node, but helps to compute it in a later layer.
    helpers: the helper channels that are added to the node's own; their slopes follow those of the arguments.
    """

    node: int
    layer: int
    channel: int
    head: int | None = None
    slopes: tuple[float, ...] = ()
    constant: float = 0.0
    stretch: float = 1.0
    is_helper: bool = False
    helpers: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A JSON object; floats as hexadecimal strings."""
        return {
            "node": self.node,
            "layer": self.layer,
            "channel": self.channel,
            "head": self.head,
            "slopes": to_hex(list(self.slopes)),
            "constant": to_hex(self.constant),
            "stretch": to_hex(self.stretch),
            "is_helper": self.is_helper,
            "helpers": list(self.helpers),
        }


_NAMES = ("node", "layer", "channel", "head", "slopes", "constant", "stretch", "is_helper", "helpers")


def hint_from_json(data: Any, where: str) -> Hint:
    """Read what `to_json` gave; a fault is reported by the field it is in."""
    if not isinstance(data, dict) or set(data) != set(_NAMES):
        raise CertificateError(f"{where} must have the fields {', '.join(_NAMES)}; got {data!r:.200}")
    for name in ("node", "layer", "channel"):
        if type(data[name]) is not int or data[name] < 0:
            raise CertificateError(f"{where}.{name} must be a whole number from 0 up; got {data[name]!r:.200}")
    if data["head"] is not None and (type(data["head"]) is not int or data["head"] < 0):
        raise CertificateError(f"{where}.head must be a whole number from 0 up, or null; got {data['head']!r:.200}")
    if not isinstance(data["slopes"], list):
        raise CertificateError(f"{where}.slopes must be a list; got {data['slopes']!r:.200}")
    if type(data["is_helper"]) is not bool:
        raise CertificateError(f"{where}.is_helper must be true or false; got {data['is_helper']!r:.200}")
    if not isinstance(data["helpers"], list) or not all(type(one) is int and one >= 0 for one in data["helpers"]):
        raise CertificateError(
            f"{where}.helpers must be a list of whole numbers from 0 up; got {data['helpers']!r:.200}"
        )
    return Hint(
        node=data["node"],
        layer=data["layer"],
        channel=data["channel"],
        head=data["head"],
        slopes=tuple(_float(value, f"{where}.slopes") for value in data["slopes"]),
        constant=_float(data["constant"], f"{where}.constant"),
        stretch=_float(data["stretch"], f"{where}.stretch"),
        is_helper=data["is_helper"],
        helpers=tuple(data["helpers"]),
    )


def _float(value: Any, where: str) -> float:
    try:
        number = float_from_hex(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise CertificateError(f"{where} must be a finite float as float.hex() writes it; got {value!r:.200}")
    return number
