"""Boxes inside a target's domain whose corners are float32 numbers with few digits, and float32 inputs of them."""

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import ExportError
from anyformer.networks.dtypes import FLOAT32
from anyformer.targets.target import Target

# Corners lie on a grid of the domain's side times this, rounded down to a power of two.
GRID = 2.0**-12


def largest_box(target: Target) -> tuple[Array, Array]:
    """The largest box in the domain whose corners lie on the grid: its ends, both (tokens, width)."""
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    step = _step(target)
    inside = np.ceil(lows / step) * step, np.floor(highs / step) * step
    low, high = (np.broadcast_to(end, (target.tokens, target.width)).copy() for end in inside)
    if not (FLOAT32.holds(low) and FLOAT32.holds(high) and (lows <= low).all() and (high <= highs).all()):
        raise ExportError(
            f"the domain must be wide enough for boxes of float32 numbers; got {lows.tolist()} to {highs.tolist()}. "
            f"Shift it nearer to 0."
        )
    return low, high


def _step(target: Target) -> Array:
    sides = target.domain.highs(target.width) - target.domain.lows(target.width)
    return np.asarray(np.exp2(np.floor(np.log2(sides))) * GRID)


def random_box(target: Target, rng: np.random.Generator, share: float) -> tuple[Array, Array]:
    """A box on the grid with this share of the domain's sides, somewhere in the domain; a point if the share is 0."""
    low, high = largest_box(target)
    step = _step(target)
    steps = np.rint((high - low) / step)
    sides = np.ceil(steps * share)
    start = np.floor(rng.random(low.shape) * (steps - sides + 1))
    return low + start * step, low + (start + sides) * step


def random_points(rng: np.random.Generator, low: Array, high: Array, count: int) -> Array:
    """Float32 inputs of a box: anywhere, and for a quarter of them with every entry at an end."""
    shares = rng.random((count, *low.shape))
    shares[: count // 4] = np.rint(shares[: count // 4])
    points = low + shares * (high - low)
    # Rounding may leave the box, whose ends are float32 numbers.
    return np.clip(FLOAT32.rounded(points), low, high)
