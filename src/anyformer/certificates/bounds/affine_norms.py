"""∫|f − g|^p over a box from a mean value form of f: upper and lower bounds that a few numbers give.

Let the box have centre c and half-widths rᵢ, and let y = x − c. A form says f(x) − g(x) = a + Σ bᵢyᵢ with a and bᵢ in
known intervals, other ones for every x. Take their midpoints a₀ and b₀ᵢ and their radii α and βᵢ:

    f − g = X + R,   X = a₀ + Σ b₀ᵢyᵢ,   |R| ≤ Q = α + Σ βᵢ|yᵢ|,

so by Minkowski ‖X‖ − ‖Q‖ ≤ ‖f − g‖ ≤ ‖X‖ + ‖Q‖. Here norms are means over the box: ‖X‖_p = (mean |X|^p)^(1/p). The yᵢ
are independent and uniform, yᵢ² has the mean rᵢ²/3 and yᵢ⁴ the mean rᵢ⁴/5, |yᵢ| has the mean rᵢ/2 and the variance
rᵢ²/12. So with sᵢ = |b₀ᵢ|rᵢ, tᵢ = βᵢrᵢ and v = Σ sᵢ²/3:

- ‖X‖₂² = a₀² + v,  ‖X‖₄⁴ = a₀⁴ + 6a₀²v + 3v² − 2/15·Σ sᵢ⁴,  ‖X‖_∞ = |a₀| + Σ sᵢ;
- ‖X‖₁ = E h(B), where B is X without its largest term, s₁, and h(b) is the mean of |b + b₀₁y₁|: (b² + s₁²)/(2s₁) for
  |b| ≤ s₁ and |b| beyond. h is convex, so E h(B) ≥ h(E B) = h(a₀). As a function of b² it is increasing and concave, so
  E h(B) ≤ h(√(E B²)) with E B² = a₀² + v − s₁²/3; and with W = (|a₀| + Σ sᵢ − s₁)² ≥ B² it lies above its chord from 0
  to W, so E h(B) ≥ h(0) + (h(√W) − h(0))·E B²/W;
- ‖Q‖₁ = α + Σ tᵢ/2,  ‖Q‖₂² = ‖Q‖₁² + Σ tᵢ²/12,  ‖Q‖_∞ = α + Σ tᵢ.

Other p lie between two of these: if 1/p = (1 − θ)/q + θ/r, then ‖·‖_p ≤ ‖·‖_q^(1−θ)·‖·‖_r^θ (Lyapunov). From below,
‖X‖_p ≥ ‖X‖_q for q ≤ p.

Rounding. Sums and products of non-negative numbers, and the one difference, which is at least 3/5 of its first term,
lose a few ulps for each input: less than ROUNDING for a thousand inputs. What underflows is below UNDERFLOWN in all.
"""

import math
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.bounds.powers import power_above, power_below
from anyformer.certificates.propagation.enclosures import up

ROUNDING = 2.0**-38
UNDERFLOWN = 2.0**-250


@dataclass(frozen=True, eq=False)
class Affine:
    """a + Σ bᵢyᵢ on boxes: ends of a, (boxes,), ends of b and the half-widths, (inputs, boxes), all in some unit.

    `off` bounds how far the point that the slopes belong to is from the middle of the box, along every input.
    """

    low: Array
    high: Array
    slope_low: Array
    slope_high: Array
    half: Array
    off: Array

    def powers(self, p: float) -> tuple[Array, Array]:
        """Bounds of the mean of |a + Σ bᵢyᵢ|^p over every box, from above and from below; ∞ and 0 if unknown."""
        with np.errstate(all="ignore"):
            middle, radius = _split(self.low, self.high)
            slope, doubt = _split(self.slope_low, self.slope_high)
            size = np.abs(slope)
            radius = radius + ((size + doubt) * self.off).sum(axis=0)
            known = _Known(np.abs(middle), size * self.half)
            rest = _rest_norm(radius, doubt * self.half, p)
            most = known.norm_above(p) * (1 + ROUNDING) + rest + UNDERFLOWN
            least = known.norm_below(p) * (1 - ROUNDING) - rest - UNDERFLOWN
        most = np.where(np.isnan(most), np.inf, most)
        least = np.maximum(np.where(np.isnan(least), 0.0, least), 0.0)
        return power_above(most, 1.0, p), power_below(least, 1.0, p)


def _split(low: Array, high: Array) -> tuple[Array, Array]:
    """A point near the middle of an interval, and how far its ends are from there at most."""
    middle = low / 2 + high / 2
    return middle, up(np.maximum(high - middle, middle - low))


@dataclass(frozen=True, eq=False)
class _Known:
    """X = a₀ + Σ b₀ᵢyᵢ, by |a₀| and sᵢ."""

    size: Array
    reach: Array

    def norm_above(self, p: float) -> Array:
        """At least ‖X‖_p, but for rounding."""
        if p == 2:
            return self._second()
        if p < 2:
            return _between(self._first_above(), 1.0, self._second(), 2.0, p)
        if p <= 4:
            return _between(self._second(), 2.0, self._fourth(), 4.0, p)
        return _between(self._fourth(), 4.0, self.size + self.reach.sum(axis=0), math.inf, p)

    def norm_below(self, p: float) -> Array:
        """At most ‖X‖_p, but for rounding."""
        if p < 2:
            return self._first_below()
        return self._second() if p < 4 else self._fourth()

    def _first_above(self) -> Array:
        return self._mean_size(np.sqrt(self._square_of_others()))

    def _first_below(self) -> Array:
        largest = self.reach.max(axis=0)
        whole = self.size + self.reach.sum(axis=0)
        most = whole - largest + ROUNDING * whole  # never too small, however small the others are beside the largest
        # Where all is 0 but the largest term, the chord is a point, and h(a₀) is exact.
        share = np.where(most > 0, self._square_of_others() / np.maximum(most, UNDERFLOWN) ** 2, 0.0)
        chord = largest / 2 + (self._mean_size(most) - largest / 2) * np.clip(share, 0.0, 1.0)
        return np.asarray(np.maximum(self._mean_size(self.size), chord))

    def _square_of_others(self) -> Array:
        """E B²: the largest term is left out."""
        others = (self.reach**2).sum(axis=0) - self.reach.max(axis=0) ** 2
        return np.asarray(self.size**2 + np.maximum(others, 0.0) / 3)

    def _mean_size(self, b: Array) -> Array:
        """h(b) for b ≥ 0."""
        largest = self.reach.max(axis=0)
        return np.where(b < largest, (b**2 / np.maximum(largest, UNDERFLOWN) + largest) / 2, b)

    def _second(self) -> Array:
        return np.sqrt(self.size**2 + self._variance())

    def _fourth(self) -> Array:
        variance = self._variance()
        of_sum = 3 * variance**2 - 2 / 15 * (self.reach**4).sum(axis=0)
        return np.asarray((self.size**4 + 6 * self.size**2 * variance + of_sum) ** 0.25)

    def _variance(self) -> Array:
        return np.asarray((self.reach**2).sum(axis=0) / 3)


def _rest_norm(radius: Array, reach: Array, p: float) -> Array:
    """At least ‖Q‖_p, rounded up."""
    first = radius + reach.sum(axis=0) / 2
    second = np.sqrt(first**2 + (reach**2).sum(axis=0) / 12)
    most = radius + reach.sum(axis=0)
    norm = _between(first, 1.0, second, 2.0, p) if p <= 2 else _between(second, 2.0, most, math.inf, p)
    return np.asarray(norm * (1 + ROUNDING))


def _between(first: Array, q: float, second: Array, r: float, p: float) -> Array:
    """Lyapunov's bound of the norm p between the norms q ≤ p and r ≥ p."""
    if p in (q, r):
        return first if p == q else second
    share = (1 / q - 1 / p) / (1 / q - 1 / r)
    return np.asarray(first ** (1 - share) * second**share)
