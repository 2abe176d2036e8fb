"""Mixers that fit the network they are named for: a size that is left out follows from the network's sizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anyformer.mixers.catalogue import CATALOGUE, from_json
from anyformer.mixers.mixer import Mixer


@dataclass(frozen=True)
class NetworkSizes:
    """The sizes of a network from which those of its mixers follow."""

    width: int
    heads: int
    longest: int
    """Tokens of a sequence at most."""

    def for_parameters(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Values of heads, max_length and filters that fit this network; other parameters keep their defaults."""
        following: dict[str, Any] = {"heads": self.heads, "max_length": self.longest}
        if isinstance(usual := defaults.get("filters"), int):
            following["filters"] = max(count for count in range(1, usual + 1) if self.width % count == 0)
        return {name: size for name, size in following.items() if name in defaults}


def fitting(described: str | Mapping[str, Any], sizes: NetworkSizes) -> Mixer:
    """A mixer as it is typed, or as its JSON object; `heads`, `max_length` and `filters` that are left out fit.

    It is so for every mixer of the catalogue that has parameters of these names.

    >>> tiny = NetworkSizes(width=128, heads=2, longest=64)
    >>> fitting("attention", tiny), fitting({"kind": "bilinear"}, tiny), fitting("attention:heads=4", tiny)
    (Attention(heads=2), Bilinear(max_length=64), Attention(heads=4))
    """
    if isinstance(described, str):
        name, given = CATALOGUE.read(described)
        described = {**given, "kind": name}
    kind = described.get("kind")
    is_known = isinstance(kind, str) and kind in CATALOGUE
    left_out = sizes.for_parameters(CATALOGUE.parameters(str(kind))) if is_known else {}
    return from_json({**left_out, **described})
