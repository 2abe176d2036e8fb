"""Quantiles, percentiles and the median: weighted means of two neighbours among the sorted entries.

*Which neighbours, and how they are weighted*, follows from the number of entries, the quantile and the method alone.
NumPy is asked by its quantile of 0, 1, …, n − 1: what it answers is the position p among the sorted entries. Positions
are computed as nq + (α + q(1 − α − β)) − 1, after dividing a percentage by 100, and interpolated: five roundings of
numbers below n + 2, less than 15u·n in all. So the exact position lies in [p − δ, p + δ] with δ = DRIFT·n = 16u·n, as
does the one that NumPy uses.

*The value at a position* is a + (b − a)t for neighbours a ≤ b and 0 ≤ t ≤ 1, increasing in every entry (`orders`). As
a function of the position it is continuous and its slope is b − a. So the value at any position in reach is off the
value at p by at most δ times the distance of the greatest and the least neighbour in reach. NumPy's a + (b − a)t or
b − (b − a)(1 − t) is off its own exact value by less than 4u(|a| + |b|), as is ours. A product that underflows is off
by SMALLEST at most; there are no more than four of them, and none if all neighbours are 0.

Where a neighbour in reach is infinite, or b − a may overflow, ∞ − ∞ and 0·∞ may occur: nothing is known then.
Some methods pick one entry, without any arithmetic; these are exact. Methods whose position jumps as q grows mean the
position that NumPy computes, which is arithmetic of plain numbers.
"""

from typing import Any, Final

import numpy as np

from anyformer.intervals.ends import Ends, Held, Plain
from anyformer.intervals.errors import IntervalError
from anyformer.intervals.rules.reductions.axes import in_front, placed
from anyformer.intervals.rules.reductions.sums import HUGE, mean
from anyformer.intervals.rules.rounding import SMALLEST, ULP
from anyformer.intervals.rules.undefined import INFINITIES, unknown

PICKING: Final = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
DRIFT: Final = 8 * ULP
LERP_ERROR: Final = 8 * ULP


def median(a: Ends, axis: Any = None, keepdims: bool = False) -> Ends:
    """The middle entry, or the mean of the two middle ones."""
    entries = _sorted(a, axis)
    n = len(entries.low)
    if n == 0:
        return placed(_nothing(entries.low.shape[1:]), a.low.shape, axis, keepdims)
    middle = slice((n - 1) // 2, n // 2 + 1)
    return placed(mean(Ends(entries.low[middle], entries.high[middle]), 0), a.low.shape, axis, keepdims)


def percentile(a: Ends, q: Any, **how: Any) -> Ends:
    """np.percentile: q is out of 100."""
    return _quantile("np.percentile", a, np.percentile, q, **how)


def quantile(a: Ends, q: Any, **how: Any) -> Ends:
    """np.quantile: q is out of 1."""
    return _quantile("np.quantile", a, np.quantile, q, **how)


def _quantile(
    name: str,
    a: Ends,
    plain: Any,
    q: Any,
    axis: Any = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Ends:
    if isinstance(q, Held):
        raise IntervalError(f"{name} on intervals takes plain numbers q; got an interval. Use np.interp on np.sort(x).")
    entries = _sorted(a, axis)
    n = len(entries.low)
    shape = np.shape(q) + entries.low.shape[1:]
    if n == 0:
        return placed(_nothing(shape), a.low.shape, axis, keepdims)
    positions = np.asarray(plain(np.arange(float(n)), q, method=method)).ravel()
    exact = method in PICKING
    rows = [_picked(entries, int(p)) if exact else _weighted(entries, float(p)) for p in positions]
    low, high = (np.reshape([getattr(row, side) for row in rows], shape) for side in ("low", "high"))
    return placed(Ends(low, high), a.low.shape, axis, keepdims)


def _sorted(a: Ends, axis: Any) -> Ends:
    entries = in_front(a, axis)
    return Ends(np.sort(entries.low, axis=0), np.sort(entries.high, axis=0))


def _nothing(shape: tuple[int, ...]) -> Ends:
    """NumPy's quantiles of no entries are NaN."""
    everything = Ends(np.full(shape, -np.inf), np.full(shape, np.inf))
    return unknown(everything, np.ones(shape, dtype=np.bool_), "A quantile of no entries is no number.")


def _picked(entries: Ends, at: int) -> Ends:
    return Ends(entries.low[at], entries.high[at])


def _weighted(entries: Ends, position: float) -> Ends:
    n = len(entries.low)
    before = min(int(np.floor(position)), n - 1)
    after, share = min(before + 1, n - 1), position - before
    reach = slice(max(int(np.floor(position - DRIFT * n)), 0), int(np.floor(position + DRIFT * n)) + 2)
    low, high = entries.low[reach], entries.high[reach]
    size = np.maximum(np.abs(low), np.abs(high)).sum(axis=0)
    error = LERP_ERROR * size + DRIFT * n * (high[-1] - low[0]) + np.where(size > 0, 4 * SMALLEST, 0.0)

    def between(end: Plain) -> Plain:
        return np.asarray(end[before] * (1 - share) + end[after] * share)

    result = Ends(between(entries.low) - error, between(entries.high) + error)
    return unknown(result, ~np.asarray(size < HUGE), INFINITIES)
