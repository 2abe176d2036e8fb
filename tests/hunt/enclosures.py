"""Putting boxes before the checker: what a network returns at points of a box must lie in the enclosure it gives."""

from dataclasses import dataclass, field

import numpy as np
from flint import arb

from anyformer.certificates.propagation.enclosures import Enclosure
from anyformer.certificates.propagation.propagate import propagate
from anyformer.errors import AnyformerError
from anyformer.networks import FeedForwardStage, Network
from anyformer.networks.evaluate import evaluate
from tests.hunt.floats import float_outputs
from tests.hunt.real import real_outputs
from tests.hunt.rulings import Outcome, Ruling

POINTS = 10
ORDERS = 2


@dataclass(frozen=True, eq=False)
class EnclosureCase:
    """A network and a box of inputs (tokens, width)."""

    description: str
    network: Network
    low: np.ndarray
    high: np.ndarray
    seed: int = 0
    points: list[np.ndarray] = field(default_factory=list)
    """Inputs to try besides random ones."""

    def judge(self) -> Outcome:
        """False if a real or a float64 output at some point lies outside."""
        try:
            found = propagate(self.network, Enclosure.box(self.low[None], self.high[None]))
        except AnyformerError as error:
            return Outcome(Ruling.REFUSED, str(error))
        low, high, slack = (np.asarray(end)[0] for end in (found.low, found.high, found.slack))
        # Ends that are no numbers say nothing.
        low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
        slack = np.where(np.isnan(slack), np.inf, slack)
        rng = np.random.default_rng(self.seed)
        for x in [*self.points, *members(rng, self.network, self.low, self.high)]:
            wrong = outside(self.network, x, low, high, slack, rng)
            if wrong:
                return Outcome(Ruling.FALSE, f"{wrong} at {_hex(x)}")
        known = np.isfinite(low) & np.isfinite(high) & np.isfinite(slack)
        return Outcome(Ruling.PROVED if known.all() else Ruling.UNDECIDED)


def outside(
    network: Network, x: np.ndarray, low: np.ndarray, high: np.ndarray, slack: np.ndarray, rng: np.random.Generator
) -> str | None:
    """Which reading of the enclosure an input contradicts, if any."""
    with np.errstate(all="ignore"):
        programs = {"the float64 program": evaluate(network, x[None])[0]}
    programs |= {f"the float64 program in another order ({k})": float_outputs(network, x, rng) for k in range(ORDERS)}
    # Infinite ends hold everything, what is no number too.
    free = ~np.isfinite(low) | ~np.isfinite(high)
    for name, value in programs.items():
        wrong = ~((low <= value) & (value <= high)) & ~(free & ~np.isfinite(value))
        if wrong.any():
            at = tuple(int(k) for k in np.argwhere(wrong)[0])
            return f"{name} gives {value[at]!r} at {at}, enclosed by [{low[at]!r}, {high[at]!r}]"
    real = real_outputs(network, x)
    for at in np.ndindex(low.shape):
        value, least, most, more = arb(real[at[0]][at[1]]), arb(low[at]), arb(high[at]), arb(slack[at])
        if value < least - more or value > most + more:
            shown = f"[{low[at]!r} − {slack[at]!r}, {high[at]!r} + {slack[at]!r}]"
            return f"the real value is {value.str(20)} at {at}, enclosed by {shown}"
    return None


def members(rng: np.random.Generator, network: Network, low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
    """Corners, points at random, and points at the kinks of the first layers."""
    bounded_low, bounded_high = np.maximum(low, -1.7e308), np.minimum(high, 1.7e308)
    found = [bounded_low, bounded_high]
    spots = _kinks(network)
    for _ in range(POINTS):
        share = rng.random(low.shape)
        x = bounded_low * (1 - share) + bounded_high * share
        ends = rng.random(low.shape)
        x = np.where(ends < 0.15, bounded_low, np.where(ends > 0.85, bounded_high, x))
        if len(spots) and rng.random() < 0.5:
            kinks = rng.choice(spots, low.shape)
            kinks = np.where(rng.random(low.shape) < 0.5, np.nextafter(kinks, rng.choice([-2e308, 2e308])), kinks)
            x = np.where(rng.random(low.shape) < 0.6, kinks, x)
        found.append(np.clip(x, bounded_low, bounded_high))
    return found


def _kinks(network: Network) -> np.ndarray:
    for stage in network.stages:
        if isinstance(stage, FeedForwardStage):
            with np.errstate(all="ignore"):
                spots = (-stage.b_1[:, :, None] / stage.W_1).ravel()
            return spots[np.isfinite(spots)]
    return np.empty(0)


def _hex(x: np.ndarray) -> str:
    return str([[float(value).hex() for value in token] for token in x])
