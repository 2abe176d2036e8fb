"""Claims about piecewise linear networks, of which the truth is known exactly."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from flint import arb, fmpq

from anyformer.certificates import Evidence, Grid
from anyformer.networks import Network
from anyformer.targets.domains import Box
from anyformer.targets.moduli import Lipschitz
from anyformer.targets.target import Target
from tests.hunt.claims import ClaimCase, whole
from tests.hunt.piecewise import Piecewise, distance, line, of_network
from tests.hunt.real import exact


@dataclass(frozen=True, eq=False)
class Function:
    """A NumPy formula and what it means."""

    formula: Callable[[np.ndarray], np.ndarray]
    meaning: Piecewise
    shown: str


def linear(slope: float, intercept: float) -> Function:
    """slope·x + intercept."""
    return Function(
        lambda x: slope * x + intercept, line(exact(slope), exact(intercept)), f"{slope!r}·x + {intercept!r}"
    )


def hinge(corner: float) -> Function:
    """max(x, corner)."""
    at = exact(corner)
    return Function(lambda x: np.maximum(x, corner), Piecewise((at,), (at,), fmpq(0), fmpq(1)), f"max(x, {corner!r})")


def scalar_claim(
    what: str,
    network: Network,
    function: Function,
    p: float,
    share: float,
    low: float = 0.0,
    high: float = 1.0,
    grid: Grid | None = None,
    tightness: float = 1.5,
    lipschitz: float | None = None,
) -> ClaimCase:
    """The claim that the network is within a share of its true distance from the function; of 1 if that is 0."""
    truth = distance(function.meaning, of_network(network), exact(low), exact(high), p, network.tokens)
    stated = float(truth.mid()) * share
    tolerance = stated if 0 < stated < 1.7e308 else 1.0
    target = Target(function.formula, network.tokens, 1, None, "hunted", Box(low, high))
    kind = Evidence.UNCONDITIONAL
    if lipschitz is not None:
        target, kind = replace(target, modulus=Lipschitz(lipschitz)), Evidence.MODULUS
    return ClaimCase(
        f"{what}; f = {function.shown} on [{low!r}, {high!r}], p = {p!r}, tolerance {tolerance!r}",
        network,
        target,
        whole(low, high) if grid is None else grid,
        p,
        tolerance,
        lambda: truth,
        kind,
        tightness,
    )


def some_share(rng: np.random.Generator) -> float:
    """Claims below the truth, which must not be proved, and above it, which may be."""
    return float(rng.choice([0.01, 0.5, 1.5, 4.0]))


def infinite() -> arb:
    """The distance from a function of compact support of a network that does not vanish far outside."""
    return arb("+inf")
