"""The capacity of a pattern: how many messages cross from a half of the tokens to the other in so many layers.

Universality does not tell patterns apart: a star, a strided pattern and a window with global tokens all mix everything
in two layers. Capacity does. For tokens S that send and the others T that receive, κ(S, T) is the largest number of
routes from inputs of S to outputs of T of which no two use the same token after the same layer. By Menger's theorem it
is the smallest number of *places* (a token after a layer) that every route must pass, so a smallest cut is a witness.

What it bounds (docs/capacity.md has the proof): the outputs of T are a function of what the places of a cut hold and of
the inputs outside S, whatever the layers compute. So if a token holds b bits, at most b·κ bits get across. If a token
holds d numbers and the layers are differentiable, ∂(outputs of T)/∂(inputs of S) has rank at most d·κ. And it is
attained: κ inputs can be copied along the routes. It does not bound what one token may hold: with more width or finer
numbers, several messages travel as one.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, final

from anyformer.patterns.bottlenecks.flow import Place, most_routes, separates, smallest_cut, unrolled
from anyformer.patterns.bottlenecks.halves import EVERY_HALF_TOKENS, Half, halves_of, shown_tokens
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.sizes import whole_number
from anyformer.patterns.universality.checker import built

MOST_CONNECTIONS: Final = 4_000_000  # of all layers together; at this size the halves take about ten seconds


@final
@dataclass(frozen=True)
class Capacity:
    """The smallest κ of the halves that were tried; `value` is None if it was not computed, and `reason` says why.

    Where all halves were tried it is the smallest of all, otherwise at least as large as that.
    """

    tokens: int
    layers: int
    value: int | None
    half: Half | None = None  # where so few messages cross
    cut: tuple[Place, ...] = ()  # the witness: as many places as `value` that every route must pass
    halves: int = 0  # how many were tried
    every_half: bool = False  # whether these are all that there are; of a causal pattern, all that look forwards
    carried: tuple[tuple[str, int], ...] = ()  # unless these are all: each by its name, and its κ
    reason: str | None = None

    @property
    def messages(self) -> int:
        """How many there are to carry: as many as the smaller half has tokens."""
        return self.tokens // 2

    def __str__(self) -> str:
        if self.value is None:
            return f"not computed: {self.reason}"
        tried = f"all {self.halves:,}" if self.every_half else f"{self.halves:,}"
        return (
            f"{self.value:,} of {self.messages:,} messages in {self.layers} layer{'s' * (self.layers > 1)},"
            f" {self.half}, the narrowest of {tried} halves"
        )

    def bottleneck(self) -> str:
        """The cut in words, layer by layer."""
        by_layer = [(layer, tuple(token for _, token in at)) for layer, at in groupby(self.cut, lambda place: place[0])]
        return "; ".join(f"{shown_tokens(tokens)} {_when(layer, self.layers)}" for layer, tokens in by_layer)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        return {
            "layers": self.layers,
            "messages": self.messages,
            "value": self.value,
            "half": self.half and {"name": self.half.name, "sources": list(self.half.sources)},
            "cut": [{"layer": layer, "token": token} for layer, token in self.cut],
            "halves": self.halves,
            "every_half": self.every_half,
            "carried": dict(self.carried),
            "reason": self.reason,
            "in_words": str(self),
        }


def capacity(pattern: PatternFamily | SparsityPattern, layers: int, tokens: int | None = None) -> Capacity:
    """How many messages cross from a half of the tokens to the other in so many layers, with a cut as the witness.

    >>> from anyformer.patterns import Star, Strided
    >>> capacity(Strided(), 2, tokens=64).value
    29
    >>> found = capacity(Star(), 2, tokens=64)
    >>> found.value, found.messages, found.bottleneck()
    (4, 32, '0, 30, 31 at the input; 0 after layer 0')

    Args:
        pattern: a family, or a pattern of one length.
        layers: how many layers, from layer 0 on.
        tokens: the length; not needed with a pattern of one length.

    Returns:
        The smallest number over all halves up to 12 tokens, over a family of halves beyond (see `halves_of`).
    """
    at, layers = built(pattern, tokens), whole_number("layers", layers, least=1)
    steps = [at.layer(layer) for layer in range(layers)]
    connections = sum(seen.connections for seen in steps)
    if connections > MOST_CONNECTIONS:
        reason = f"{connections:,} connections in {layers} layers are more than the {MOST_CONNECTIONS:,} followed"
        return Capacity(at.tokens, layers, None, reason=reason)
    network, halves = unrolled(steps), halves_of(at, layers)
    carried = [most_routes(network, half.sources, half.targets) for half in halves]
    value = min(carried)
    half = halves[carried.index(value)]
    cut = smallest_cut(network, half.sources, half.targets)
    assert len(cut) == value, "the cut is not as large as the flow: our graph is wrong"
    assert separates(cut, steps, half.sources, half.targets), "a route avoids the cut: our graph is wrong"
    every_half = at.tokens <= EVERY_HALF_TOKENS
    named = () if every_half else tuple((each.name, count) for each, count in zip(halves, carried, strict=True))
    return Capacity(at.tokens, layers, value, half, cut, len(halves), every_half, named)


def _when(layer: int, layers: int) -> str:
    return "at the input" if not layer else "at the output" if layer == layers else f"after layer {layer - 1}"
