"""Sums and what is made of them: means, variances, norms, running sums, differences.

One bound covers every order in which NumPy may add. Fix an order of k − 1 rounded additions. Its result is increasing
in every term, rounding being monotone; so for terms xᵢ ≥ lowᵢ it is at least its result for the low ends, which is
off Σ lowᵢ by at most γ·Σ|lowᵢ|, where γ = (k − 1)u/(1 − (k − 1)u) and u = 2⁻⁵³. The sum that we compute may be off by
as much. Together that is 2γ·Σ|lowᵢ|, and (k + 2)·2⁻⁵²·Σ|lowᵢ| is larger by 6u·Σ|lowᵢ|, which is enough for the
roundings of the bound itself while k² < 2⁵². Sums below 2⁻¹⁰²¹ are exact: every float64 is a multiple of 2⁻¹⁰⁷⁴.
The same holds for the high ends. Terms that are all 0 leave the sum 0, and non-negative ones leave it non-negative.

Overflow. A partial sum may reach ∞ only if the positive parts of the terms add up to it, and −∞ only if the negative
ones do. If both may happen, ∞ − ∞ may, and nothing is known. Both sums of parts are at most the sum of the |ends|.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyformer.intervals.conditions import refuse_conditions
from anyformer.intervals.ends import Ends, Plain, ends_of
from anyformer.intervals.errors import IntervalError, unsupported
from anyformer.intervals.rules.elementwise.arithmetic import absolute, divide, square, subtract
from anyformer.intervals.rules.elementwise.elementary import sqrt
from anyformer.intervals.rules.rounding import ULP, known_between
from anyformer.intervals.rules.undefined import INFINITIES, unknown

MOST_TERMS = 2**26
# From here on a sum may overflow if its terms are added in another order.
HUGE = 2.0**1023


def total(a: Ends, axis: Any = None, keepdims: bool = False) -> Ends:
    """Σ a over the axes."""
    terms = count(a.low.shape, axis)

    def added(x: Plain) -> Plain:
        return np.asarray(x.sum(axis=axis, keepdims=keepdims))

    return added_up(added, a, terms)


def added_up(added: Callable[[Plain], Plain], a: Ends, terms: Plain | int) -> Ends:
    """Sums of entries, of `terms` of them, whatever `added` adds up."""
    sizes = added(np.abs(a.low)), added(np.abs(a.high))
    result = within(added(a.low), sizes[0], added(a.high), sizes[1], terms)
    if all(bool((size < HUGE).all()) for size in sizes) or np.max(terms) < 2:
        return result
    above, below = added(np.maximum(a.high, 0.0)), added(np.minimum(a.low, 0.0))
    return unknown(result, np.asarray((above >= HUGE) & (below <= -HUGE)), INFINITIES)


def within(low: Plain, low_size: Plain, high: Plain, high_size: Plain, terms: Plain | int) -> Ends:
    """Computed sums of low and high ends moved by the bound above; `…_size` are the sums of the |ends|."""
    if np.max(terms) > MOST_TERMS:
        raise IntervalError(f"A sum on intervals has at most {MOST_TERMS} terms; got {np.max(terms)}.")
    share = (terms + 2) * ULP * (np.asarray(terms) > 1)
    return known_between(low - share * low_size, high + share * high_size)


def count(shape: Sequence[int], axis: Any) -> int:
    """How many entries a reduction over the axes brings together."""
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis)
    return int(np.prod([shape[axis] for axis in axes], dtype=np.int64))


def mean(a: Ends, axis: Any = None, keepdims: bool = False) -> Ends:
    """The sum divided by the number of terms, which is also how NumPy computes it."""
    return divide(total(a, axis, keepdims), ends_of(count(a.low.shape, axis)))


def variance(a: Ends, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Ends:
    """The sum of squared deviations from the mean over k − ddof, step by step as NumPy computes it."""
    deviations = subtract(a, mean(a, axis, keepdims=True))
    squares = total(square(deviations), axis, keepdims)
    return divide(squares, ends_of(max(count(a.low.shape, axis) - ddof, 0)))


def standard_deviation(a: Ends, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Ends:
    """The root of the variance."""
    return sqrt(variance(a, axis, ddof, keepdims))


def running_total(a: Ends, axis: int | None = None) -> Ends:
    """The sums of the first 1, 2, … entries along an axis; of all entries in a row if the axis is None."""
    if axis is None:
        return running_total(Ends(a.low.ravel(), a.high.ravel()), 0)
    terms = np.arange(1, a.low.shape[axis] + 1)
    terms = terms.reshape([-1 if at == axis % a.low.ndim else 1 for at in range(a.low.ndim)])

    def added(x: Plain) -> Plain:
        return np.cumsum(x, axis=axis)

    return added_up(added, a, terms)


def differences(a: Ends, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Ends:
    """Every entry minus the one before it, n times over, with entries put before and behind the array first."""
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    a = _extended(a, axis, prepend, append)
    for _ in range(n):
        entries = np.arange(a.low.shape[axis])
        after = Ends(np.take(a.low, entries[1:], axis), np.take(a.high, entries[1:], axis))
        before = Ends(np.take(a.low, entries[:-1], axis), np.take(a.high, entries[:-1], axis))
        a = subtract(after, before)
    return a


def _extended(a: Ends, axis: int, prepend: Any, append: Any) -> Ends:
    """The array between others along an axis; a number stands for one entry everywhere."""
    refuse_conditions("np.diff with prepend or append, as it is,", [prepend, append])
    one = [1 if at == axis % a.low.ndim else size for at, size in enumerate(a.low.shape)]

    def laid(value: Any) -> Ends:
        ends = ends_of(value)
        return Ends(*(np.broadcast_to(end, one) if end.ndim == 0 else end for end in (ends.low, ends.high)))

    parts = [a if part is a else laid(part) for part in (prepend, a, append) if part is not None]
    return Ends(np.concatenate([p.low for p in parts], axis), np.concatenate([p.high for p in parts], axis))


def norm(a: Ends, ord: float | str | None = None, axis: Any = None, keepdims: bool = False) -> Ends:
    """Vector norms with ord 1, 2 and ±inf, and the root of all squares for ord None."""
    axes = a.low.ndim if axis is None else np.atleast_1d(axis).size
    if ord is not None and axes > 1:
        raise unsupported(f"A matrix norm, np.linalg.norm with ord={ord!r} over {axes} axes,")
    if ord is None or ord == 2:
        # A fused multiply-add rounds once where the squares here are rounded outwards and their sum covers the rest.
        return sqrt(total(square(a), axis, keepdims))
    sizes = absolute(a)
    if ord == 1:
        return total(sizes, axis, keepdims)
    if ord in (np.inf, -np.inf):
        extreme = np.max if ord == np.inf else np.min
        return Ends(*(np.asarray(extreme(end, axis=axis, keepdims=keepdims)) for end in (sizes.low, sizes.high)))
    raise unsupported(f"np.linalg.norm with ord={ord!r}")
