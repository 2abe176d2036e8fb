"""Comparing enclosures with Arb's, which hold the exact result at 200 bits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from anyformer.intervals import IntervalArray
from tests.intervals.samples import intervals, members

flint = pytest.importorskip("flint")
arb = flint.arb
BITS = 200
SHARP = 100


@dataclass
class Tally:
    """How many exact results were compared, and which lay outside of the enclosure."""

    compared: int = 0
    misses: list[Any] = field(default_factory=list)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.compared + other.compared, self.misses + other.misses)


def compare(values: Sequence[Any], low: np.ndarray, high: np.ndarray, shown: Sequence[Any]) -> Tally:
    """A miss is an exact value, known to 100 bits at least, that certainly lies outside of [low, high]."""
    tally = Tally()
    for value, least, greatest, inputs in zip(values, low.tolist(), high.tolist(), shown, strict=True):
        if not value.is_finite() or (value.rel_accuracy_bits() < SHARP and not value.is_exact()):
            continue  # a pole, outside of the domain, or an argument so huge that 200 bits do not tell the result
        tally.compared += 1
        if value < arb(least) or value > arb(greatest):
            tally.misses.append((inputs, value, least, greatest))
    return tally


def compare_function(
    on_arrays: Callable[..., Any],
    on_arb: Callable[..., Any],
    count: int,
    seed: int,
    arguments: int = 1,
    domain: tuple[float, float] | None = None,
) -> Tally:
    """Enclose on random boxes; compare with Arb at a float64 member, and at a real one that is no float64."""
    rng = np.random.default_rng(seed)
    flint.ctx.prec = BITS
    boxes = [intervals(rng, (count + 1) // 2, domain=domain) for _ in range(arguments)]
    result = on_arrays(*(IntervalArray(low, high) for low, high in boxes))
    chosen = [members(rng, low, high) for low, high in boxes]
    with np.errstate(all="ignore"):
        computed = on_arrays(*chosen)
    number = ~np.isnan(computed)
    assert ((result.low <= computed) & (computed <= result.high))[number].all()
    floats = [tuple(map(arb, row)) for row in zip(*(member.tolist() for member in chosen), strict=True)]
    between = [_between(rng, low, high) for low, high in boxes]
    reals = list(zip(*between, strict=True))
    return sum(
        (compare([on_arb(*row) for row in rows], result.low, result.high, rows) for rows in (floats, reals)), Tally()
    )


def _between(rng: np.random.Generator, low: np.ndarray, high: np.ndarray) -> list[Any]:
    shares = (rng.integers(0, 2**20, low.size) / 2**20 + 2.0**-21).tolist()
    # The mean is exact but for the rounding to 200 bits, which a point interval must not suffer.
    return [
        arb(a) if a == b else (arb(a) + (arb(b) - arb(a)) * share).mid()
        for a, b, share in zip(low.tolist(), high.tolist(), shares, strict=True)
    ]
