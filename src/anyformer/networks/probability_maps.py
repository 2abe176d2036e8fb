"""How scores become weights: the papers' probability maps ρ.

Paper B's Assumption 2 asks that scaling drives ρ to the hardmax: for every lead ζ > 0 and loss 0 < η <= 1 there is a t
such that ρ[t·v] gives the largest score at least 1 − η whenever it leads all others by ζ. Every map here states such
a t as `scale(lead, loss, keys)`, and with `saturating_scale(lead)` one from which on float64 gives the winner a weight
of exactly 1. `check_probability_map` tests your own map.
"""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Final, Protocol

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.catalogues import Catalogue
from anyformer.errors import NetworkError
from anyformer.networks.dtypes import FLOAT64, DType

# float64 rounds exp(−s) to 0 above this s: then softmax gives the loser no weight at all and *is* hardmax, bit for bit.
UNDERFLOW = 1075 * math.log(2)


class ProbabilityMap(Protocol):
    """Scores to weights along the last axis: non-negative, adding up to 1, equal for equal scores."""

    def __call__(self, scores: Array) -> Array:
        """Turn scores into weights."""
        ...

    def scale(self, lead: float, loss: float, keys: int) -> float:
        """A t for which ρ[t·v] gives a winner that leads by `lead` at least 1 − loss, among so many keys."""
        ...

    def saturating_scale(self, lead: float) -> float:
        """A t from which on float64 gives a winner that leads by `lead` a weight of exactly 1."""
        ...


@dataclass(frozen=True)
class Softmax:
    """Weights proportional to exp(score)."""

    def __call__(self, scores: Array) -> Array:
        """Turn scores into weights along the last axis."""
        with np.errstate(over="ignore", under="ignore"):  # a loser whose lag overflows has weight 0
            powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(powers / _sum_in_order(powers)[..., None])

    def scale(self, lead: float, loss: float, keys: int) -> float:
        """Every loser's odds are at most e^{−t·lead}, so all of them together have (n − 1)e^{−t·lead} at most."""
        return max(math.log((keys - 1) / loss), 0.0) / lead if keys > 1 else 0.0

    def saturating_scale(self, lead: float) -> float:
        """Where e^{−t·lead} underflows."""
        return UNDERFLOW / lead


@dataclass(frozen=True)
class Hardmax:
    """All weight on the largest score; ties share it equally."""

    def __call__(self, scores: Array) -> Array:
        """Turn scores into weights along the last axis."""
        winners = (scores == scores.max(axis=-1, keepdims=True)).astype(np.float64)
        return np.asarray(winners / winners.sum(axis=-1, keepdims=True))

    def scale(self, lead: float, loss: float, keys: int) -> float:
        """Any scale will do."""
        return 1.0

    def saturating_scale(self, lead: float) -> float:
        """Any scale will do."""
        return 1.0


@dataclass(frozen=True)
class Sparsemax:
    """The point of the simplex nearest to the scores: max(score − τ, 0) (Martins and Astudillo 2016).

    Weights add up to 1, so the winner is at most 1 above τ: a key that lags behind it by 1 or more gets exactly 0.
    """

    def __call__(self, scores: Array) -> Array:
        """Turn scores into weights along the last axis: one threshold by sorting, then one division.

        Without the division, the threshold's rounding would push the weights' sum away from 1 by as many ulps as the
        square of the number of keys.
        """
        z = scores - scores.max(axis=-1, keepdims=True)
        falling = -np.sort(-z, axis=-1)
        sums = np.cumsum(falling, axis=-1)
        counts = np.arange(1, z.shape[-1] + 1)
        support = (1 + counts * falling > sums).sum(axis=-1, keepdims=True)
        tau = (np.take_along_axis(sums, support - 1, axis=-1) - 1) / support
        return _adding_up(np.maximum(z - tau, 0.0), z == 0)

    def scale(self, lead: float, loss: float, keys: int) -> float:
        """Exactly one-hot from a lead of 1 on."""
        return 1 / lead

    def saturating_scale(self, lead: float) -> float:
        """The same; the winner's weight is 0 − (−1)."""
        return 1 / lead


@dataclass(frozen=True)
class Entmax:
    """α-entmax: max((α − 1)·score − τ, 0)^{1/(α − 1)} (Peters, Niculae and Martins 2019); α = 2 is sparsemax.

    The winner's weight is at most 1, so (α − 1)·score − τ is at most 1 there: a key that lags behind by 1/(α − 1) gets
    0.
    """

    alpha: float = 1.5

    def __post_init__(self) -> None:
        given: object = self.alpha  # it may be text from a command line
        if isinstance(given, bool) or not isinstance(given, Real) or not 1 < self.alpha <= 16:
            raise NetworkError(f"alpha must be above 1, where it is softmax, and at most 16; got {self.alpha!r}")

    def __call__(self, scores: Array) -> Array:
        """Turn scores into weights along the last axis: bisection for τ, then one division to make them add up."""
        z = (self.alpha - 1) * (scores - scores.max(axis=-1, keepdims=True))
        keys = z.shape[-1]
        # A winner with all the weight, and all keys alike.
        low = np.full((*z.shape[:-1], 1), -1.0)
        high = np.full_like(low, -((1 / keys) ** (self.alpha - 1)))
        for _ in range(64):
            middle = (low + high) / 2
            # NumPy's own sum takes another order in another layout, and τ another last bit.
            too_much = _sum_in_order(self._powers(z, middle))[..., None] >= 1
            low, high = np.where(too_much, middle, low), np.where(too_much, high, middle)
        return _adding_up(self._powers(z, low), z == 0)

    def _powers(self, z: Array, tau: Array) -> Array:
        return np.asarray(np.maximum(z - tau, 0.0) ** (1 / (self.alpha - 1)))

    def scale(self, lead: float, loss: float, keys: int) -> float:
        """Exactly one-hot from a lead of 1/(α − 1) on."""
        return 1 / ((self.alpha - 1) * lead)

    def saturating_scale(self, lead: float) -> float:
        """The same."""
        return self.scale(lead, 1.0, 2)


CATALOGUE: Final = Catalogue[ProbabilityMap](
    "probability map", {"softmax": Softmax, "sparsemax": Sparsemax, "entmax": Entmax}, NetworkError
)
"""The maps that a user may choose; hardmax, their limit under scaling, is not among them."""


def probability_map(text: str) -> ProbabilityMap:
    """A map by its name, with parameters as on a command line.

    >>> probability_map("entmax:alpha=1.2"), probability_map("entmax:1.2"), probability_map("softmax")
    (Entmax(alpha=1.2), Entmax(alpha=1.2), Softmax())

    Raises NetworkError if there is no such map.
    """
    return CATALOGUE.parse(text)


def _adding_up(powers: Array, winners: Array) -> Array:
    """Weights whose sum is 1 up to rounding; if only tied winners have weight, their shares are exactly equal."""
    tied = (winners | (powers == 0)).all(axis=-1, keepdims=True)
    weights = powers / _sum_in_order(powers)[..., None]
    return np.where(tied, winners / winners.sum(axis=-1, keepdims=True), weights)


def softmax_in(dtype: DType, scores: Array) -> Array:
    """Softmax of scores of a narrower type, every operation rounded to it; exp is computed in float64 and rounded."""
    with np.errstate(all="ignore"):
        powers = dtype.rounded(np.exp(dtype.rounded(scores - scores.max(axis=-1, keepdims=True))))
        return dtype.rounded(powers / _sum_in_order(powers, dtype)[..., None])


def _sum_in_order(powers: Array, dtype: DType = FLOAT64) -> Array:
    """From the first key to the last, whatever the layout in memory."""
    total = powers[..., 0].copy()
    for key in range(1, powers.shape[-1]):
        total = dtype.rounded(total + powers[..., key])
    return np.asarray(total)


def check_probability_map(rho: ProbabilityMap, seed: int = 0) -> None:
    """Test a map against the definition: a probability map that scaling drives to the hardmax.

    Raises NetworkError with the scores that show the fault.
    """
    rng = np.random.default_rng(seed)
    for keys in (1, 2, 3, 5, 8):
        for size in (0.1, 1.0, 30.0):
            _check_weights(rho, rng.normal(size=(40, keys)) * size)
            _check_weights(rho, rng.integers(-2, 3, (40, keys)).astype(np.float64) * size)
        for lead in (1e-3, 0.3, 7.0):
            for loss in (1.0, 0.5, 1e-3, 1e-9):
                _check_lead(rho, rng, keys, lead, loss)


def _check_weights(rho: ProbabilityMap, scores: Array) -> None:
    weights = np.asarray(rho(scores), dtype=np.float64)
    if weights.shape != scores.shape:
        raise NetworkError(f"a probability map must keep the shape of its scores {scores.shape}; got {weights.shape}")
    off = ~(np.isfinite(weights).all(axis=1) & (weights >= 0).all(axis=1) & (np.abs(weights.sum(axis=1) - 1) < 1e-9))
    _raise_at(off, scores, weights, "weights must be non-negative and add up to 1")
    order = np.argsort(scores, axis=1)
    falls = np.diff(np.take_along_axis(weights, order, axis=1), axis=1) < -1e-9
    _raise_at(np.asarray(falls.any(axis=1)), scores, weights, "a larger score must not get a smaller weight")
    differs = np.abs(np.asarray(rho(scores[:, ::-1]))[:, ::-1] - weights) > 1e-9
    _raise_at(np.asarray(differs.any(axis=1)), scores, weights, "the order of keys must not matter")


def _check_lead(rho: ProbabilityMap, rng: np.random.Generator, keys: int, lead: float, loss: float) -> None:
    scores = rng.normal(size=(40, keys)) * 3
    scores[:, 1:] = np.minimum(scores[:, 1:], scores[:, :1] - lead)
    scores[::2, 1:] = scores[::2, :1] - lead  # the hardest case: no key lags further behind
    t = rho.scale(lead, loss, keys)
    if not (math.isfinite(t) and t >= 0):
        raise NetworkError(f"scale({lead}, {loss}, {keys}) must be a finite number, not negative; got {t!r}")
    # Slightly more than t: exactly at the threshold, rounding would decide.
    weights = np.asarray(rho(t * (1 + 1e-6) * scores))
    short = weights[:, 0] < (1 - loss) * (1 - 1e-9)
    _raise_at(short, scores, weights, f"scaled by {t:.6g}, a winner that leads by {lead} must get at least 1 − {loss}")


def _raise_at(wrong: Booleans, scores: Array, weights: Array, what: str) -> None:
    if wrong.any():
        k = int(wrong.argmax())
        raise NetworkError(f"{what}; for the scores {scores[k].tolist()} got {weights[k].tolist()}")
