"""What is known of a target on boxes: its values, and how far it is from its own linear interpolation on a box.

Let a box have sides δ, and x lie in a simplex of Kuhn's triangulation of it, with corners vᵢ and weights λᵢ ≥ 0, where
Σλᵢ = 1 and Σλᵢvᵢ = x. Let t be the fractions of x in the box. Coordinate k of a corner is at its upper end with weight
tₖ in all, so that

    (1)  Σλᵢ|x − vᵢ|ₖ = 2tₖ(1 − tₖ)δₖ ≤ δₖ/2.

For coordinates k and q with tₖ ≥ t_q, both are at their upper ends with weight t_q, both at their lower ends with
weight 1 − tₖ, and only k is at its upper end with weight tₖ − t_q. So with c = tₖ − t_q

    (2)  Σλᵢ|x − vᵢ|ₖ|x − vᵢ|_q = t_q(1 − tₖ)(1 + 2c)δₖδ_q ≤ (1 − c)²(1 + 2c)/4·δₖδ_q ≤ δₖδ_q/4,

for t_q + (1 − tₖ) = 1 − c, and (1 − c)²(1 + 2c) falls in c from 1. The *departure* of f on the box is the largest
f(x) − Σλᵢf(vᵢ) = Σλᵢ(f(x) − f(vᵢ)). It is at most

- Σₖ_q sup|∂ₖ_q f|·δₖδ_q/8 where f is twice differentiable: f(vᵢ) = f(x) + ∇f(x)(vᵢ − x) + ½(vᵢ − x)ᵀHᵢ(vᵢ − x) with Hᵢ
  within the enclosure of the second derivatives, the terms with ∇f(x) cancel, and (2) bounds the rest;
- Σₖ(sup ∂ₖf − inf ∂ₖf)·δₖ/4 where f has slopes: f(x) − f(vᵢ) = gᵢ·(x − vᵢ) with gᵢ within the enclosure of the slopes,
  what all gᵢ share cancels, and (1) bounds the rest, which is at most half the width of the enclosure;
- sup f − inf f, since f(x) and all f(vᵢ) lie between them;
- L·¾·max δ for |f(x) − f(y)| ≤ L·max|x − y|: with falling fractions and t₀ = 1, the i-th corner has the weight
  tᵢ − tᵢ₊₁ and the distance max(1 − tᵢ, tᵢ₊₁) in units of δ, at most max(1 − s, s) for every s between the two, and
  ∫₀¹ max(1 − s, s) ds = ¾;
- Σₖ Lₖ·δₖ/2 for |f(x) − f(y)| ≤ Σₖ Lₖ|x − y|ₖ, by (1).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.bounds.modulus_bound import INFLATION, UNDERFLOWN
from anyformer.certificates.propagation.enclosures import up
from anyformer.intervals import IntervalError
from anyformer.programs.derivatives import Expansion, expansions, is_position_free
from anyformer.programs.program import Program
from anyformer.targets.moduli import EntrywiseLipschitz, Modulus, Tightest
from anyformer.targets.ranges import range_on_boxes
from anyformer.targets.target import Symmetry, Target

# Sums of a few hundred products of numbers that are not negative, each rounded to nearest.
SUMMED = 1 + 2.0**-40


class Knowledge(ABC):
    """Bounds of a target on boxes (boxes, tokens, width); every result has this shape, and is infinite if unknown."""

    @abstractmethod
    def values(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Ends between which the target's values on the boxes lie; used on boxes that are nearly points."""

    @abstractmethod
    def departures(self, low: Array, high: Array) -> Array:
        """How far the target can be from its linear interpolation on Kuhn's simplices of the boxes."""

    @property
    @abstractmethod
    def is_symmetric(self) -> bool:
        """Whether one order of the tokens stands for all: shown, or trusted because it is declared."""


@dataclass(frozen=True, eq=False)
class KnownSteps(Knowledge):
    """A target that was traced: its derivatives are enclosed step by step."""

    program: Program

    def values(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The values of the steps on intervals."""
        ends = self._where_known(_values, low, high)
        return np.where(np.isnan(ends[..., 0]), -np.inf, ends[..., 0]), np.where(
            np.isnan(ends[..., 1]), np.inf, ends[..., 1]
        )

    def departures(self, low: Array, high: Array) -> Array:
        """By second derivatives, slopes or values, whichever is least."""
        found = self._where_known(_departures, low, high)[..., 0]
        return np.where(np.isnan(found), np.inf, found)

    def _where_known(self, rule: Callable[[list[Expansion], Array], Array], low: Array, high: Array) -> Array:
        """The rule's numbers, (boxes, tokens, width, …); NaN on boxes where a step may have no value."""
        try:
            return rule(expansions(self.program, low, high), up(high - low).reshape(len(low), -1))
        except IntervalError:
            if len(low) == 1:
                return np.full((*low.shape, 2), np.nan)
        # The boxes at fault are few, mostly: the others are known without them.
        half = len(low) // 2
        return np.concatenate(
            [self._where_known(rule, low[part], high[part]) for part in (slice(half), slice(half, None))]
        )

    @property
    def is_symmetric(self) -> bool:
        """Seen from the steps."""
        return is_position_free(self.program)


def _values(found: list[Expansion], sides: Array) -> Array:
    return np.stack([np.stack([one.value.low, one.value.high], axis=2) for one in found], axis=2)


def _departures(found: list[Expansion], sides: Array) -> Array:
    least = np.stack([_departure(one, sides) for one in found], axis=2)
    return np.stack([least, least], axis=3)


def _departure(one: Expansion, sides: Array) -> Array:
    m, shape = sides.shape[1], one.value.shape
    by_bends, by_slopes = np.zeros(shape), np.zeros(shape)
    with np.errstate(all="ignore"):
        for k, slope in enumerate(one.slopes):
            if slope is not None:
                by_slopes += (slope.high - slope.low) * sides[:, k, None] / 4
        pairs = combinations_with_replacement(range(m), 2)
        for (k, q), bend in zip(pairs, one.bends, strict=True):
            if bend is not None:
                often = 1.0 if k == q else 2.0
                size = np.maximum(np.abs(bend.low), np.abs(bend.high))
                by_bends += often * size * (sides[:, k] * sides[:, q] / 8)[:, None]
        by_values = up(one.value.high - one.value.low)
        found = np.fmin(np.fmin(by_bends, by_slopes) * SUMMED, by_values)
    return np.where(np.isnan(found), np.inf, found)


@dataclass(frozen=True, eq=False)
class KnownFormula(Knowledge):
    """A target that runs on intervals, which give its range."""

    target: Target

    def values(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The range."""
        return range_on_boxes(self.target, low, high)

    def departures(self, low: Array, high: Array) -> Array:
        """The length of the range."""
        least, most = range_on_boxes(self.target, low, high)
        with np.errstate(invalid="ignore"):
            length = up(most - least)
        return np.where(np.isnan(length), np.inf, length)

    @property
    def is_symmetric(self) -> bool:
        """Nothing shows it."""
        return False


@dataclass(frozen=True, eq=False)
class KnownModulus(Knowledge):
    """A target with a declared modulus of continuity, symmetry and evaluation error."""

    target: Target
    modulus: Modulus

    def values(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The value at the centre, with its rounding error, and how far the rest of the box can be from it."""
        centre = np.clip((low + high) / 2, low, high)
        f = self.target(centre)
        off = _widened(self.modulus.largest_deviation(up(np.maximum(high - centre, centre - low))))
        off = up(off + up(self.target.evaluation_error * (1 + np.abs(f))))
        return np.nextafter(f - off, -np.inf), np.nextafter(f + off, np.inf)

    def departures(self, low: Array, high: Array) -> Array:
        """By the modulus, the same for all boxes of one size."""
        return _widened(_departure_by(self.modulus, up(high - low)))

    @property
    def is_symmetric(self) -> bool:
        """Trusted, if it is declared."""
        return self.target.symmetry is Symmetry.EQUIVARIANT


def _departure_by(modulus: Modulus, sides: Array) -> Array:
    if isinstance(modulus, Tightest):
        return np.asarray(np.minimum.reduce([_departure_by(one, sides) for one in modulus.moduli]))
    return modulus.largest_deviation(sides * (0.5 if isinstance(modulus, EntrywiseLipschitz) else 0.75))


def _widened(deviation: Array) -> Array:
    """A modulus is rounded to nearest, and products in it may have underflowed."""
    return np.asarray(deviation) * INFLATION + UNDERFLOWN
