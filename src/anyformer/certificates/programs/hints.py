"""Hints: which channel is to become which node. The checker trusts none of them; a wrong one makes it refuse."""

import math
from dataclasses import dataclass
from typing import Any

from anyformer.errors import CertificateError
from anyformer.strict_json import float_from_hex, to_hex


@dataclass(frozen=True)
class Hint:
    """The node of this number is channel + Σ slope·argument + constant, from layer `layer` on.

    The arguments of a node with a root are its root alone. Layers are counted after cutting is undone (`layers`).
    head: which head writes the channel; None for a feed-forward layer.
    stretch: the λ of a product, computed as ¼(λa + b/λ)² − ¼(λa − b/λ)²; its arguments are the two sums.
    """

    node: int
    layer: int
    channel: int
    head: int | None = None
    slopes: tuple[float, ...] = ()
    constant: float = 0.0
    stretch: float = 1.0

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
        }


_NAMES = ("node", "layer", "channel", "head", "slopes", "constant", "stretch")


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
    return Hint(
        node=data["node"],
        layer=data["layer"],
        channel=data["channel"],
        head=data["head"],
        slopes=tuple(_float(value, f"{where}.slopes") for value in data["slopes"]),
        constant=_float(data["constant"], f"{where}.constant"),
        stretch=_float(data["stretch"], f"{where}.stretch"),
    )


def _float(value: Any, where: str) -> float:
    try:
        number = float_from_hex(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise CertificateError(f"{where} must be a finite float as float.hex() writes it; got {value!r:.200}")
    return number
