"""What is asked of a network: is there an input in this box whose output satisfies these comparisons?"""

import enum
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array


class Sense(enum.Enum):
    """On which side of its threshold an output entry is asked to be; the value is the operator in VNN-LIB."""

    AT_LEAST = ">="
    AT_MOST = "<="

    @property
    def sign(self) -> float:
        """1 where larger outputs satisfy the comparison, −1 where smaller ones do."""
        return 1.0 if self is Sense.AT_LEAST else -1.0


@dataclass(frozen=True)
class Comparison:
    """One output entry, at least or at most a threshold."""

    entry: tuple[int, int]
    """(token, coordinate)"""
    sense: Sense
    threshold: float

    def margin(self, y: Array) -> Array:
        """By how much outputs (…, tokens, width) satisfy it; negative where they do not."""
        return np.asarray(self.sense.sign * (y[..., *self.entry] - self.threshold))


@dataclass(frozen=True, eq=False)
class Property:
    """A box of inputs, and alternatives of the output: one of them must hold, with all its comparisons."""

    low: Array
    """(tokens, width)"""
    high: Array
    """(tokens, width)"""
    alternatives: tuple[tuple[Comparison, ...], ...]

    def margin(self, y: Array) -> Array:
        """By how much outputs satisfy the property: the best alternative's worst comparison."""
        margins = [np.min([one.margin(y) for one in alternative], axis=0) for alternative in self.alternatives]
        return np.asarray(np.max(margins, axis=0))

    def contains(self, x: Array) -> bool:
        """Whether an input lies in the box."""
        return bool(((self.low <= x) & (x <= self.high)).all())
