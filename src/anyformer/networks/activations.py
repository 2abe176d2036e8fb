"""How hidden units respond.

Transformers use `ReLU`. The proof uses `PiecewiseLinear` with at most three pieces, just as it uses `Hardmax` as a
probability map. Each activation is a value, and a stage holds one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import NetworkError


@dataclass(frozen=True)
class ReLU:
    """max(t, 0)."""

    def __call__(self, t: Array) -> Array:
        """Apply to every entry."""
        return np.maximum(t, 0.0)


@dataclass(frozen=True)
class PiecewiseLinear:
    """Up to three linear pieces, jumps allowed, at least one piece constant.

    Piece k is `slopes[k] * t + intercepts[k]` on [breaks[k-1], breaks[k]): closed on the left.
    """

    breaks: tuple[float, ...]
    slopes: tuple[float, ...]
    intercepts: tuple[float, ...]

    def __post_init__(self) -> None:
        pieces = len(self.slopes)
        if not (len(self.intercepts) == pieces == len(self.breaks) + 1 <= 3):
            raise NetworkError(
                f"an activation has at most three pieces and one break between neighbours; "
                f"got {len(self.breaks)} breaks, {pieces} slopes, {len(self.intercepts)} intercepts"
            )
        if any(left >= right for left, right in zip(self.breaks, self.breaks[1:], strict=False)):
            raise NetworkError(f"the breaks of an activation must increase; got {self.breaks}")
        if 0.0 not in self.slopes:
            raise NetworkError(f"at least one piece of an activation must be constant; got slopes {self.slopes}")

    def __call__(self, t: Array) -> Array:
        """Apply to every entry."""
        piece = np.searchsorted(np.array(self.breaks), t, side="right")
        return np.asarray(np.array(self.slopes)[piece] * t + np.array(self.intercepts)[piece])

    def piece(self, k: int, t: float) -> float:
        """Piece k, continued to any t."""
        return self.slopes[k] * t + self.intercepts[k]


Activation: TypeAlias = ReLU | PiecewiseLinear


def step(height: float = 1.0) -> PiecewiseLinear:
    """0 below 0, `height` from 0 on."""
    return PiecewiseLinear(breaks=(0.0,), slopes=(0.0, 0.0), intercepts=(0.0, height))


def pieces(breaks: Sequence[float], *lines: tuple[float, float]) -> PiecewiseLinear:
    """Write an activation as its breaks and the (slope, intercept) of each piece."""
    return PiecewiseLinear(tuple(breaks), tuple(line[0] for line in lines), tuple(line[1] for line in lines))
