"""Weighted averages: Σ wᵢaᵢ / Σ wᵢ, as NumPy computes it."""

from typing import Any

import numpy as np

from anyformer.intervals.conditions import refuse_conditions
from anyformer.intervals.ends import Ends, ends_of, is_point, magnitudes
from anyformer.intervals.errors import IntervalError
from anyformer.intervals.rules.elementwise.arithmetic import divide, multiply
from anyformer.intervals.rules.reductions.axes import axes_of
from anyformer.intervals.rules.reductions.sums import HUGE, count, mean, total
from anyformer.intervals.rules.rounding import SMALLEST, ULP


def average(a: Ends, axis: Any = None, weights: Any = None, keepdims: bool = False, returned: bool = False) -> Ends:
    """np.average. Weights may be intervals as well; their sum must not hold 0."""
    if returned:
        raise IntervalError(
            "np.average(…, returned=True) is not supported on intervals."
            " Write np.average(…) and np.sum(weights) as two calls."
        )
    if weights is None:
        return mean(a, axis, keepdims)
    refuse_conditions("np.average with weights, as it is,", [weights])
    w = _beside(a, ends_of(weights), axis)
    if is_point(w) and (w.low.sum(axis=axis) == 0).any():
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")  # as NumPy does, whatever the entries
    weight = total(w, axis, keepdims)
    quotient = divide(total(multiply(a, w), axis, keepdims), weight)
    return _between_entries(quotient, a, w, weight, axis, keepdims) if (w.low >= 0).all() else quotient


def _beside(a: Ends, w: Ends, axis: Any) -> Ends:
    """The weights along the axes that they belong to, as NumPy lays them."""
    if w.low.shape == a.low.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = axes_of(a.low.ndim, axis)
    if w.low.shape != tuple(a.low.shape[at] for at in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = np.argsort(axes)
    shape = tuple(size if at in axes else 1 for at, size in enumerate(a.low.shape))
    if is_point(w):
        return ends_of(w.low.transpose(order).reshape(shape))
    return Ends(*(end.transpose(order).reshape(shape) for end in (w.low, w.high)))


def _between_entries(quotient: Ends, a: Ends, w: Ends, weight: Ends, axis: Any, keepdims: bool) -> Ends:
    """Weights that are not negative give an average between the least and the greatest entry.

    Proof for NumPy's float64. Let D = Σ wᵢ > 0, A = max |aᵢ|, k terms. Every product is off by u of itself, by SMALLEST
    if it underflows, and the sums by γ = ku/(1 − ku) of the sum of sizes. So the numerator is off by at most
    ((k + 1)A·D)u + k·SMALLEST to first order, the denominator by ku·D, and the quotient by (2k + 2)A·u +
    2k·SMALLEST/D. (k + 4)(A·2⁻⁵² + 4·SMALLEST/D) is more than that and the terms of second order while k² < 2⁵².
    Nothing overflows where A·D < HUGE.
    """

    def extreme(end: Any, which: Any) -> Any:
        return which(end, axis=axis, keepdims=keepdims)

    terms, size = count(a.low.shape, axis), extreme(magnitudes(a)[1], np.max)
    error = (terms + 4) * (ULP * size + 4 * SMALLEST / weight.low)
    applies = (weight.low > 0) & (size * weight.high < HUGE)
    low = np.maximum(quotient.low, extreme(a.low, np.min) - error)
    high = np.minimum(quotient.high, extreme(a.high, np.max) + error)
    return Ends(np.where(applies, low, quotient.low), np.where(applies, high, quotient.high))
