"""The error as measured on quasi-random inputs: no proof, but it must agree with one."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anyformer.networks.activations import Array
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Target

REPLICATES = 8
CONFIDENCE = 0.95


@dataclass(frozen=True)
class MeasuredError:
    """An estimate of d_p(f, g) with a confidence interval from independently scrambled Sobol' sequences."""

    error: float
    low: float
    high: float
    samples: int


def measure_error(
    network: Callable[[Array], Array], target: Target, p: float, samples_per_replicate: int = 512, seed: int = 0
) -> MeasuredError:
    """Estimate the L^p distance of a network (any callable on (batch, tokens, width)) and a target."""
    from scipy.stats import qmc, t

    low, high = _region(target)
    volume = float(np.prod(high - low) ** target.tokens)
    integrals = []
    for replicate in range(REPLICATES):
        sampler = qmc.Sobol(target.tokens * target.width, scramble=True, rng=np.random.default_rng([seed, replicate]))
        unit = sampler.random(samples_per_replicate).reshape(-1, target.tokens, target.width)
        x = low + unit * (high - low)
        gap = np.abs(target(x) - network(x))
        integrals.append(volume * float((gap**p).sum(axis=(1, 2)).mean()))
    mean = float(np.mean(integrals))
    half = float(t.ppf((1 + CONFIDENCE) / 2, REPLICATES - 1) * np.std(integrals, ddof=1) / np.sqrt(REPLICATES))
    low_end, high_end = max(mean - half, 0.0), mean + half
    return MeasuredError(mean ** (1 / p), low_end ** (1 / p), high_end ** (1 / p), REPLICATES * samples_per_replicate)


def _region(target: Target) -> tuple[Array, Array]:
    """The box; around a compact support a margin too, where target and network should both be 0."""
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    margin = (high - low) / 8 if isinstance(target.domain, CompactSupport) else 0.0
    return low - margin, high + margin
