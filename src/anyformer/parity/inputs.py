"""The inputs that all runtimes get: random ones, corners of the domain, and for tables the centres of cells."""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.certificates.bounds.cells import Grid
from anyformer.certificates.claims.certificate import Certificate
from anyformer.errors import ParityError
from anyformer.networks.dtypes import DType
from anyformer.targets.checks import samples
from anyformer.targets.target import Target
from anyformer.whole_numbers import whole_number

RANDOM, CENTRES = 256, 64


@dataclass(frozen=True, eq=False)
class Inputs:
    """Sequences (batch, tokens, width): uniform ones first, then special ones, then centres of cells."""

    x: Array
    uniform: int
    """How many of them are uniform on the domain."""
    centres: int
    """How many of them, the last ones, are centres of cells."""

    @property
    def is_centre(self) -> Booleans:
        """Which of them are centres of cells."""
        return np.arange(len(self.x)) >= len(self.x) - self.centres

    def rounded(self, dtype: DType, target: Target) -> Array:
        """The sequences as a type has them, still in the domain."""
        lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
        return dtype.rounded_inside(self.x, lows, highs)


def inputs_for(target: Target, certificate: Certificate, count: int = RANDOM, seed: int = 0) -> Inputs:
    """Inputs for one model; the same for the same seed."""
    rng = np.random.default_rng(whole_number("seed", seed, 0, ParityError))
    # A spread needs two.
    count = whole_number("inputs", count, 2, ParityError)
    lows, highs = target.domain.lows(target.width), target.domain.highs(target.width)
    uniform = lows + rng.random((count, target.tokens, target.width)) * (highs - lows)
    parts = [np.clip(uniform, lows, highs), samples.inside(target, count // 4, rng)]
    centres = [] if certificate.grid is None else [_centres(certificate.grid, target.tokens, rng)]
    x = np.concatenate([*parts, *centres])
    return Inputs(x, count, sum(map(len, centres)))


def _centres(grid: Grid, tokens: int, rng: np.random.Generator) -> Array:
    """Centres of random cells."""
    axes = [(low + high) / 2 for low, high in zip(grid.lows, grid.highs, strict=True)]
    return np.stack([rng.choice(axis, size=(CENTRES, tokens)) for axis in axes], axis=-1)
