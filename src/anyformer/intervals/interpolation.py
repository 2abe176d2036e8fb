"""np.interp: the range of a piecewise linear function, and NumPy's rounding of it.

The function through the points (xpⱼ, fpⱼ) has its extremes over an interval at its ends or at points xpⱼ inside. It is
increasing in every fpⱼ, so that intervals for them give their low ends to the least value, their high ends to the
greatest.

*Rounding.* NumPy computes s(x − xpⱼ) + fpⱼ with s = (fpⱼ₊₁ − fpⱼ)/(xpⱼ₊₁ − xpⱼ). With M = max |fp|, the product is at
most 2M and off by 5u of itself, and the sum by u of it: together less than 12u·M = 6·2⁻⁵²·M. A slope that underflows is
off by SMALLEST, and the product then by SMALLEST·(xpⱼ₊₁ − xpⱼ); the product itself may underflow, too. Our own value
at an end is off by as much. Where fp is constant, the value is exact.
"""

from typing import Any

import numpy as np

from anyformer.intervals.conditions import refuse_conditions
from anyformer.intervals.ends import Ends, Held, Plain, ends_of
from anyformer.intervals.errors import IntervalError
from anyformer.intervals.rounding import SMALLEST, ULP

_NAME = "np.interp on intervals"


def interpolated(x: Ends, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Ends:
    """np.interp(x, xp, fp, left, right) for plain xp; x, fp, left and right may be intervals."""
    refuse_conditions("np.interp", [fp, left, right])
    points, values = _points(xp), ends_of(fp)
    if values.low.ndim != 1 or points.shape != values.low.shape:
        raise ValueError("fp and xp are not of the same length, or are no 1-D sequences")
    first, last = (
        Ends(values.low[at], values.high[at]) if given is None else ends_of(given)
        for at, given in ((0, left), (-1, right))
    )
    low = -_greatest(x, points, -values.low, -first.low, -last.low)
    return Ends(low, _greatest(x, points, values.high, first.high, last.high))


def _points(xp: Any) -> Plain:
    if isinstance(xp, Held):
        raise IntervalError(f"{_NAME} takes plain numbers xp; got an interval. Write it with np.where and arithmetic.")
    points = ends_of(xp).low
    if points.ndim != 1 or not len(points):
        raise ValueError("array of sample points is empty, or no 1-D sequence")
    if not (np.isfinite(np.diff(points)).all() and (np.diff(points) > 0).all()):
        raise IntervalError(f"{_NAME} takes finite numbers xp, each greater than the one before; got {points}.")
    return points


def _greatest(x: Ends, points: Plain, values: Plain, left: Plain, right: Plain) -> Plain:
    """The greatest value of the function through the points on the intervals x, NumPy's rounding included."""
    slopes = np.diff(values) / np.diff(points) if len(points) > 1 else np.zeros(0)
    if not np.isfinite(slopes).all():
        raise IntervalError(f"{_NAME} takes finite numbers fp with finite slopes between them; got {values}.")
    begin, end = np.clip(x.low, points[0], points[-1]), np.clip(x.high, points[0], points[-1])
    at_ends = np.maximum(np.interp(begin, points, values), np.interp(end, points, values))
    first = np.asarray(np.searchsorted(points, x.low, "left"))
    last = np.asarray(np.searchsorted(points, x.high, "right"))
    inside = np.maximum(at_ends, _greatest_between(values, first, last))
    inside = np.where((x.low <= points[-1]) & (x.high >= points[0]), inside + _error(points, values), -np.inf)
    outside = np.maximum(np.where(x.low < points[0], left, -np.inf), np.where(x.high > points[-1], right, -np.inf))
    return np.asarray(np.maximum(inside, outside))


def _error(points: Plain, values: Plain) -> float:
    if (values == values[0]).all():
        return 0.0
    widest = float(np.diff(points).max())
    return float(16 * ULP * np.abs(values).max() + 4 * SMALLEST * (1 + widest))


def _greatest_between(values: Plain, first: Plain, last: Plain) -> Plain:
    """max values[first:last], −∞ if there are none: two runs of 2ᵏ values cover them, for the greatest such k."""
    tables = [values]
    while 2 ** len(tables) <= len(values):
        half = 2 ** (len(tables) - 1)
        tables.append(np.maximum(tables[-1][:-half], tables[-1][half:]))
    result = np.full(np.shape(first), -np.inf)
    level = np.frexp(np.maximum(last - first, 0).astype(float))[1] - 1
    for k, table in enumerate(tables):
        here = level == k
        result[here] = np.maximum(table[first[here]], table[last[here] - 2**k])
    return result
