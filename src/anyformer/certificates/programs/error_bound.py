"""The error bound of a compiled network, in the sup norm and from it in every L^p norm."""

import math
from collections.abc import Sequence

import numpy as np

from anyformer.certificates.bounds.bound import ErrorBound
from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.programs.bound import bound_of_program
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.propagation.walls import Reach
from anyformer.networks.network import Network
from anyformer.programs.forms import Node
from anyformer.programs.tracing import trace
from anyformer.runtime.run import run
from anyformer.targets.checks import samples as sampled
from anyformer.targets.target import Target

# Where to look for a large error, to refute a claim.
LOOKS = 64
# A computed difference is off by roundings; by far less than this share of what is compared, plus what is declared.
ROUNDING = 2.0**-30


def derive_program_bound(network: Network, target: Target, hints: Sequence[Hint], p: float) -> ErrorBound:
    """Trace the target, read the weights, and bound |f − g| in every entry.

    Raises NotTraceable if the target cannot be traced, NotShown if the weights are not what the hints say.
    """
    program = trace(target)
    found = bound_of_program(program, network, hints)
    largest, (worst, at) = float(found.largest), _seen(network, target)
    return ErrorBound(
        upper=largest if p == math.inf else largest * norm_of_one(target, p) * (1 + 2.0**-52),
        lower=worst if p == math.inf else 0.0,
        terms={"largest": largest, **{term_of(node): float(error.absolute) for node, error in found.nodes.items()}},
        worst_input=at,
        vanishes_outside=True,
        cells=0,
        evidence=Evidence.PROGRAM,
        reach=Reach.DOMAIN,
    )


def term_of(node: Node) -> str:
    """What a node's error is called in a certificate."""
    return f"step_{node.number}"


def norm_of_one(target: Target, p: float) -> float:
    """The L^p norm of an error of 1 in every entry, rounded up: (volume · entries)^(1/p)."""
    if p == math.inf:
        return 1.0
    sides = target.domain.highs(target.width) - target.domain.lows(target.width)
    # In logarithms, for the volume of many tokens overflows. A side is rounded, its logarithm and the sums are: these
    # are fewer than width + 8 roundings of all magnitudes, and exp makes relative errors of them.
    logarithms, last = np.log(sides), math.log(target.tokens * target.width)
    most = target.tokens * (float(np.abs(logarithms).sum()) + 4) + last
    logarithm = (target.tokens * float(logarithms.sum()) + last) / p + (target.width + 8) * 2.0**-52 * most / p
    return math.exp(logarithm) * (1 + 2.0**-48) if logarithm < 700 else math.inf


def _seen(network: Network, target: Target) -> tuple[float, np.ndarray]:
    """A lower bound of the largest error, and the input that shows it."""
    x = sampled.inside(target, LOOKS, np.random.default_rng(0))[: 2 * LOOKS]
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    x = network.dtype.rounded_inside(x, low, high)
    # A domain may be so narrow that no number of the type lies in it; what happens beside it refutes nothing.
    is_inside = ((x >= low) & (x <= high)).all(axis=(1, 2))
    with np.errstate(all="ignore"):
        f, g = target(x), run(network, x)
        apart = np.abs(f - g)
        sure = apart - ROUNDING * (np.abs(f) + np.abs(g)) - target.evaluation_error * (1 + np.abs(f))
    by_input = np.where(is_inside, np.where(np.isfinite(sure), sure, 0.0).max(axis=(1, 2)), 0.0)
    return max(float(by_input.max()), 0.0), x[int(by_input.argmax())]
