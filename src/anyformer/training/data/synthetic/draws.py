"""Random choices that are the same on every machine and with every version of NumPy.

NumPy guarantees the raw numbers of a bit generator, but not the results of `Generator.choice` and similar methods.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeVar, final

import numpy as np

Choice = TypeVar("Choice")
_BLOCK = 4096


@final
class Draws:
    """A stream of choices from a seed."""

    def __init__(self, seed: int) -> None:
        self._uniform = _uniform(seed)

    def below(self, count: int) -> int:
        """A whole number from 0 to count - 1."""
        return int(next(self._uniform) * count)

    def chance(self, share: float) -> bool:
        """True in this share of draws."""
        return next(self._uniform) < share

    def choose(self, choices: Sequence[Choice]) -> Choice:
        """One of them, all equally likely."""
        return choices[self.below(len(choices))]

    def weigh(self, choices: Sequence[Choice], cumulative: Sequence[float]) -> Choice:
        """One of them, by cumulative shares that end at 1."""
        return choices[min(bisect_right(cumulative, next(self._uniform)), len(choices) - 1)]

    def sample(self, choices: Sequence[Choice], count: int) -> list[Choice]:
        """So many different ones."""
        left = list(choices)
        return [left.pop(self.below(len(left))) for _ in range(count)]


def _uniform(seed: int) -> Iterator[float]:
    """From 0 to below 1; the upper 53 bits, which is what a double holds."""
    bits = np.random.PCG64(seed)
    while True:
        yield from ((bits.random_raw(_BLOCK) >> np.uint64(11)) * 2.0**-53).tolist()
