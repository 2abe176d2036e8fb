"""A few small models, and what samples show of a network's error."""

from functools import cache

import numpy as np
from flint import arb

import anyformer as af
from anyformer.certificates import measure_error
from anyformer.networks import Network
from anyformer.runtime import run
from anyformer.targets.target import Target


@cache
def models() -> list[af.Model]:
    """A few small models, built once."""
    return [
        af.construct(af.targets.mean_scale(tokens=2), 0.1, method="averaging"),
        af.construct(af.targets.sort(tokens=2), 0.3, method="averaging"),
        af.construct(af.targets.bump(tokens=2), 0.3, method="averaging"),
        af.construct(af.targets.mean_scale(tokens=2), 0.3, method="selective-shift"),
    ]


def measured(network: Network, target: Target, p: float) -> arb:
    """A ball from what samples show of the error, at its lower end with a twentieth to spare, upwards."""

    def outputs(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            # What overflowed is as wrong as can be.
            return np.nan_to_num(run(network, x), nan=1e6, posinf=1e6, neginf=-1e6)

    with np.errstate(all="ignore"):
        low = measure_error(outputs, target, p).low
    return arb(low * 0.95).union(arb(1e12))
