"""The whole domain as one box: what the float64 program returns anywhere on it must lie in what is said of it."""

from dataclasses import dataclass

import numpy as np

from anyformer.certificates.propagation.walls import follow_domain
from anyformer.networks import Network
from anyformer.targets import Box
from tests.hunt.build import Unit, clip, scalar_network
from tests.hunt.enclosures import members, outside
from tests.hunt.models import models
from tests.hunt.rulings import Outcome, Ruling
from tests.hunt.small_networks import EVERY, ORDINARY, some_network


@dataclass(frozen=True, eq=False)
class WallsCase:
    """A network, a domain, and how long a stage may be to be walked through."""

    description: str
    network: Network
    low: float
    high: float
    short: int
    seed: int = 0

    def judge(self) -> Outcome:
        """False if an output at some point of the domain lies outside."""
        found = follow_domain(self.network, Box(self.low, self.high), self.short)
        if found is None:
            return Outcome(Ruling.UNDECIDED)
        low, high = found.low[0], found.high[0]
        shape = (self.network.tokens, self.network.width)
        rng = np.random.default_rng(self.seed)
        for x in members(rng, self.network, np.full(shape, self.low), np.full(shape, self.high)):
            wrong = outside(self.network, x, low, high, np.zeros(shape), rng)
            if wrong:
                return Outcome(Ruling.FALSE, f"{wrong} at {x.tolist()}")
        return Outcome(Ruling.PROVED)


def walls(rng: np.random.Generator) -> WallsCase:
    """Tables of steps, small networks of any kind, and models that were built here."""
    kind, seed = rng.choice(["steps", "ordinary", "any", "model"]), int(rng.integers(2**32))
    low, high, short = 0.0, 1.0, int(rng.choice([0, 1, 3]))
    if kind == "steps":
        network = scalar_network([_steps(rng), [clip(-2.0, 2.0)]])
        short = 1
    elif kind == "model":
        network = rng.choice(np.array(models(), dtype=object)).network
        short = int(rng.choice([2, 8, 64]))
    else:
        letters = str(rng.choice(["f", "ff", "faf", "af"]))
        network = some_network(rng, ORDINARY if kind == "ordinary" else EVERY, letters)
        low = float(rng.choice([0.0, -1.0, -3.0]))
    return WallsCase(f"{kind}, stages up to {short} layers walked", network, low, high, short, seed)


def _steps(rng: np.random.Generator) -> list[list[Unit]]:
    """Layers that take what is above a threshold somewhere else, from the top down, as a table of values does."""
    count = int(rng.integers(2, 12))
    thresholds = np.sort(rng.integers(1, 2**10, count) / 2.0**10)[::-1]
    ramp = 2.0 ** -int(rng.integers(8, 20))
    return [
        [(1.0, ramp - t, (v - t) / ramp), (1.0, -t, -(v - t) / ramp - 1)]
        for t, v in zip(thresholds.tolist(), rng.normal(size=count).tolist(), strict=True)
    ]
