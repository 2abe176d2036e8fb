"""How the number of connections a layer grows with the length, measured."""

import math
from dataclasses import dataclass
from typing import final

from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern

_LONGEST = 1024  # lengths are doubled up to here, halved beyond, so that measuring costs no more than checking


@final
@dataclass(frozen=True)
class Growth:
    """Connections of the largest layer at three lengths, each twice the last."""

    tokens: tuple[int, ...]
    connections: tuple[int, ...]

    @property
    def exponent(self) -> float:
        """e such that connections ∝ tokens^e between the first and the last length: 1 is linear, 2 quadratic."""
        length = math.log(self.tokens[-1] / self.tokens[0])
        return math.log(self.connections[-1] / self.connections[0]) / length

    def __str__(self) -> str:
        return f"n^{self.exponent:.2f} from n = {self.tokens[0]} to {self.tokens[-1]}"


def growth(family: PatternFamily, built: SparsityPattern) -> Growth | None:
    """Measured at the length of `built`, twice and four times that, or downwards from long ones.

    None if there are no connections.
    """
    tokens = built.tokens
    lengths = [tokens, 2 * tokens, 4 * tokens] if 4 * tokens <= _LONGEST else [tokens // 4, tokens // 2, tokens]
    patterns = [built if length == tokens else family.at(length) for length in lengths]
    counts = [max(layer.connections for layer in pattern.seen) for pattern in patterns]
    return Growth(tuple(lengths), tuple(counts)) if all(counts) else None
