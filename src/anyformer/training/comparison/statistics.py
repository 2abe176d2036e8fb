"""How sure a measured difference is: intervals over seeds and over examples, and a verdict for all pairs compared.

Two things vary when a comparison is done again: the examples that are drawn, and the seeds of training. Both systems
see the same examples, so examples are resampled for both at once: what is hard for both cancels. Examples that share
texts are resampled together, as groups.

A handful of seeds cannot be resampled like examples: three seeds, drawn with replacement, have two thirds of their
variance and no tails, and a "95 %" interval made so holds the truth in 82 of 100 repetitions where seeds vary most. So
each draw resamples the examples and adds a seeds' part: a draw from Student's t with the standard error of the seeds'
means and the degrees of freedom of Welch and Satterthwaite. What seeds and examples vary by together is in the
resampled examples already; it is taken off the seeds' variance, which would count it twice. In simulations with three
and five seeds the interval then holds the truth in 95 to 97 of 100 repetitions, whichever part varies more.

Scores are numbers per example: 1 and 0 for right and wrong, or a window's mean loss. A system with several seeds has an
array `(seeds, examples)`; one without a seed, like a fitted baseline, has `(examples,)`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from anyformer.errors import TrainingError

_Numbers = NDArray[np.float64]
_LEVEL = 0.05
"""Intervals hold the truth in 95 of 100 repetitions."""
_AT_ONCE = 2**21
"""Groups drawn at once: 16 MB."""


@dataclass(frozen=True)
class Interval:
    """A measured value and where the true one is, with a confidence of 95 %."""

    value: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether a value is inside."""
        return self.low <= value <= self.high


class Over(Enum):
    """What a difference is to hold for; the less is held fixed, the wider the interval."""

    EXAMPLES = "other examples, with the models that were trained"
    EXAMPLES_AND_SEEDS = "other examples, with models trained again from other seeds"


class Verdict(Enum):
    """What can be said of two systems. Undecided does not mean equal."""

    ABOVE = "The first is above the second, also when corrected for all pairs that were compared."
    BELOW = "The first is below the second, also when corrected for all pairs that were compared."
    ABOVE_ALONE = "The first is above the second, but only if no other pairs had been compared."
    BELOW_ALONE = "The first is below the second, but only if no other pairs had been compared."
    UNDECIDED = "The data do not tell which of the two is above."

    @property
    def is_decided(self) -> bool:
        """Whether one is above the other with the correction."""
        return self in (Verdict.ABOVE, Verdict.BELOW)


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same examples."""

    first: str
    second: str
    difference: Interval
    """Of the means, first minus second."""
    chance: float
    """The p value: the smallest level whose interval leaves out 0."""
    corrected: float
    """The same after Holm's correction for all pairs that were compared."""
    verdict: Verdict


def mean_interval(values: ArrayLike) -> Interval:
    """The mean over seeds, with Student's t factor: mean ± t · s / √n. One value alone has an infinite interval.

    >>> print(*(f"{end:.2f}" for end in (mean_interval([0.5, 0.6, 0.7]).low, mean_interval([0.5, 0.6, 0.7]).high)))
    0.35 0.85
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise TrainingError(
            f"values of seeds must be one or more finite numbers; got {_shown(numbers)}. Leave out what did not finish."
        )
    mean, count = float(numbers.mean()), len(numbers)
    if count == 1:
        return Interval(mean, -math.inf, math.inf)
    half = float(stats.t.ppf(1 - _LEVEL / 2, count - 1) * numbers.std(ddof=1) / math.sqrt(count))
    return Interval(mean, mean - half, mean + half)


def wilson(right: int, count: int) -> Interval:
    """The accuracy of one system, with Wilson's interval: it stays within 0 and 1. For independent examples.

    >>> print(f"{wilson(90, 100).low:.3f} {wilson(90, 100).high:.3f}")
    0.826 0.945
    """
    if not 0 <= right <= count or count < 1:
        raise TrainingError(
            f"right answers must be 0 to the number of examples, which is at least 1; got {right} of {count}."
        )
    z, share = float(stats.norm.ppf(1 - _LEVEL / 2)), right / count
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    # Rounding must not leave the measured share itself outside.
    return Interval(share, max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)))


def pairs_to_see(difference: float, discordance: float, power: float = 0.8) -> int:
    """How many test pairs show a difference in accuracy, in a share `power` of repetitions.

    One of the two systems alone is right on a share c (`discordance`) of the pairs, so the difference of one pair is 1,
    0 or −1 with mean d and variance c − d², and n pairs show it if d ≥ (z_97.5 % + z_power) · √((c − d²) / n).

    >>> pairs_to_see(0.02, discordance=0.2)
    3917
    """
    if not 0 < abs(difference) <= discordance <= 1 or not 0 < power < 1:
        raise TrainingError(
            "a difference must be above 0 and at most the share of pairs on which one alone is right, which is at most"
            f" 1, and the power within 0 and 1; got {difference}, {discordance} and {power}."
        )
    z = float(stats.norm.ppf(1 - _LEVEL / 2) + stats.norm.ppf(power))
    return math.ceil(z**2 * (discordance - difference**2) / difference**2)


def compare(first: ArrayLike, second: ArrayLike, **settings: Any) -> Comparison:
    """Two systems alone; the settings are those of `compare_all`."""
    return compare_all({"first": first, "second": second}, **settings)[0]


def compare_all(
    systems: Mapping[str, ArrayLike],
    pairs: Sequence[tuple[str, str]] | None = None,
    groups: Sequence[int] | None = None,
    over: Over = Over.EXAMPLES_AND_SEEDS,
    draws: int = 10_000,
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Paired comparisons of systems on the same examples, with one correction for all of them.

    Args:
        systems: scores, `(seeds, examples)` or `(examples,)`. A single seed says nothing of other seeds: over seeds its
            interval is infinite.
        pairs: the names to compare; None compares all with all, in their order.
        groups: a number per example; examples of one number are resampled together. None: all are independent.
        over: what the difference is to hold for.
        draws: of the bootstrap.
        seed: of the draws; the same seed gives the same numbers.

    Returns:
        One comparison for each pair.
    """
    scores = _checked(systems)
    wanted = tuple(combinations(scores, 2) if pairs is None else pairs)
    for pair in wanted:
        if len(set(pair)) != 2 or not set(pair) <= set(scores):
            raise TrainingError(f"pairs must be two of {', '.join(scores)}; got {' and '.join(pair)}.")
    if draws < 1000:
        raise TrainingError(f"draws must be 1,000 or more for the ends of a 95 % interval; got {draws}. Use 10,000.")
    places = _places(groups, next(iter(scores.values())).shape[-1])
    generator = np.random.default_rng(seed)
    means = _resampled_means(scores, places, draws, generator)
    spreads = {name: _seed_spread(one, places) for name, one in scores.items()}
    found = []
    for first, second in wanted:
        value = float(scores[first].mean() - scores[second].mean())
        drawn = means[first] - means[second]
        if over is Over.EXAMPLES_AND_SEEDS:
            drawn = drawn + _seed_draws([spreads[first], spreads[second]], draws, generator)
        found.append((first, second, *_judged(value, drawn)))
    corrected = holm([chance for *_, chance in found])
    return tuple(
        Comparison(first, second, interval, chance, adjusted, _verdict(interval, adjusted))
        for (first, second, interval, chance), adjusted in zip(found, corrected, strict=True)
    )


def holm(chances: Sequence[float]) -> tuple[float, ...]:
    """p values corrected by Holm's method: the chance of any wrong claim among all is at most the level.

    The smallest of m is multiplied by m, the next by m − 1, and so on; none gets smaller than one before it.

    >>> holm([0.04, 0.01, 0.03])
    (0.06, 0.03, 0.06)
    """
    corrected, largest = [0.0] * len(chances), 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        largest = max(largest, min(1.0, chances[place] * (len(chances) - rank)))
        corrected[place] = largest
    return tuple(corrected)


@dataclass(frozen=True)
class _Spread:
    """How the mean of a system varies with its seeds: the squared standard error, and its degrees of freedom."""

    squared_error: float
    freedom: float


def _checked(systems: Mapping[str, ArrayLike]) -> dict[str, _Numbers]:
    scores = {name: np.asarray(one, dtype=np.float64) for name, one in systems.items()}
    if len(scores) < 2:
        raise TrainingError(f"a comparison must have two systems or more; got {len(scores)}.")
    count = next(iter(scores.values())).shape[-1:]
    for name, one in scores.items():
        if one.ndim not in (1, 2) or not one.size or not np.isfinite(one).all():
            raise TrainingError(
                f"scores of {name} must be finite numbers of shape (seeds, examples) or (examples,); got {_shown(one)}."
            )
        if one.shape[-1:] != count:
            raise TrainingError(
                f"all systems must be scored on the same examples; {name} has {one.shape[-1]},"
                f" {next(iter(scores))} has {count[0]}. Score both on the whole test set, in the same order."
            )
    return scores


def _places(groups: Sequence[int] | None, count: int) -> NDArray[np.intp]:
    """Each example's group, counted from 0."""
    if groups is not None and len(groups) != count:
        raise TrainingError(f"groups must be one number per example; got {len(groups)} for {count} examples.")
    places = np.arange(count) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    if places.max() < 1:
        raise TrainingError("examples must be of two groups or more, or nothing can be resampled; all are of one.")
    return places


def _resampled_means(
    scores: Mapping[str, _Numbers], places: NDArray[np.intp], draws: int, generator: np.random.Generator
) -> dict[str, _Numbers]:
    """The mean score of each system in each draw of groups with replacement; the same groups for all systems."""
    groups = int(places.max()) + 1
    of_example = [np.atleast_2d(one).mean(axis=0) for one in scores.values()]
    sums = [np.bincount(places, weights=one, minlength=groups) for one in of_example]
    table = np.stack([*sums, np.bincount(places, minlength=groups).astype(np.float64)], axis=1)
    totals, step = np.empty((draws, table.shape[1])), max(1, _AT_ONCE // groups)
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        drawn = generator.integers(groups, size=(rows, groups)) + groups * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * groups).reshape(rows, groups)
        totals[start : start + rows] = times.astype(np.float64) @ table
    return {name: totals[:, column] / totals[:, -1] for column, name in enumerate(scores)}


def _seed_spread(scores: _Numbers, places: NDArray[np.intp]) -> _Spread:
    if scores.ndim == 1:
        return _Spread(0.0, math.inf)
    seeds, count = scores.shape
    if seeds == 1:
        return _Spread(math.inf, 1)
    means = scores.mean(axis=1)
    # What seeds and groups vary by together: the seeds' residuals, summed in groups, as a variance of the mean.
    residuals = scores - scores.mean(axis=0) - (means - means.mean())[:, None]
    in_groups = np.stack([np.bincount(places, weights=one) for one in residuals])
    groups = in_groups.shape[1]
    together = (in_groups**2).sum() / (seeds - 1) * groups / (groups - 1) / count**2
    return _Spread(max(0.0, float(means.var(ddof=1) - together)) / seeds, seeds - 1)


def _seed_draws(spreads: Sequence[_Spread], draws: int, generator: np.random.Generator) -> _Numbers | float:
    """Draws of what other seeds change in a difference, by Student's t."""
    squared = sum(spread.squared_error for spread in spreads)
    if squared == 0 or math.isinf(squared):
        return squared
    freedom = squared**2 / sum(spread.squared_error**2 / spread.freedom for spread in spreads)
    return math.sqrt(squared) * generator.standard_t(freedom, size=draws)


def _judged(value: float, drawn: _Numbers) -> tuple[Interval, float]:
    """The percentile interval, and the smallest level whose interval leaves out 0."""
    if np.isinf(drawn).any():
        return Interval(value, -math.inf, math.inf), 1.0
    low, high = np.quantile(drawn, [_LEVEL / 2, 1 - _LEVEL / 2])
    # One more than counted: a chance of exactly 0 cannot be known from draws.
    beyond = (min(int((drawn <= 0).sum()), int((drawn >= 0).sum())) + 1) / (len(drawn) + 1)
    return Interval(value, float(low), float(high)), min(1.0, 2 * beyond)


def _verdict(difference: Interval, corrected: float) -> Verdict:
    if difference.holds(0):
        return Verdict.UNDECIDED
    if corrected <= _LEVEL:
        return Verdict.ABOVE if difference.value > 0 else Verdict.BELOW
    return Verdict.ABOVE_ALONE if difference.value > 0 else Verdict.BELOW_ALONE


def _shown(numbers: NDArray[Any]) -> str:
    return f"shape {numbers.shape}" if np.isfinite(numbers).all() else f"shape {numbers.shape} with numbers not finite"
