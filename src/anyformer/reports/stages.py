"""The stages by their names in the proof: what each does, in one line."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

PURPOSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "to origin": "moves the low end of the domain to 0",
        "to scale": "scales each side of the domain to a whole number of dyadic cells",
        "clamp input": "clamps every entry to just around the support, however large it was",
        "mark outside": "sends entries outside the support far above all grid values",
        "level marks": "makes all marks the same number",
        "quantise": "drops every entry to the lower end of its cell",
        "gather": "collects each column's code in the first coordinate and clears the others",
        "recode": "replaces codes by numbers whose sums never collide",
        "average": "uniform attention adds a multiple of the mean: each token now holds its context id",
        "selective shifts": "sweeps the codes upwards; each layer shifts the tokens in its window by M·(max − min)",
        "global shift": "adds a multiple of the largest token to all: each token now holds its context id",
        "sparse selective shifts": "along the path γ, shifts each token by M·(max − min) of what it sees; others idle",
        "all-max shift": "hop by hop, adds a multiple of the largest token in view: each token holds its context id",
        "average neighbours": "hop by hop, adds a multiple of the mean in view: each token now holds its context id",
        "vanish outside: mark": "raises the other coordinates of sequences that leave the support",
        "vanish outside: others": "sends the coordinates so raised to 0",
        "vanish outside": "sends every token of a sequence that leaves the support to 0",
        "lift": "raises the ids above every possible output",
        "value map": "from the largest id down, moves the token that holds it to its output",
        "vanish strays: mark": "raises the other coordinates of tokens without an id",
        "vanish strays: others": "sends the coordinates so raised to 0",
        "vanish strays": "sends tokens without an id to 0: two tokens of their sequence share a cell",
        "clip": "bounds the output for any input whatever",
    }
)
UNKNOWN: Final = "a stage that the proof has no words for"
KINDS: Final[Mapping[str, str]] = MappingProxyType({"attention": "attention", "feed_forward": "feed-forward"})


def purpose(name: str) -> str:
    """What the stage of this name does; `UNKNOWN` for a name that no construction uses."""
    return PURPOSES.get(name, UNKNOWN)
