"""np.interp: the range of a piecewise linear function, and NumPy's rounding of it.

The function through the points (xpⱼ, fpⱼ) has its extremes over an interval at its ends or at points xpⱼ inside. It is
increasing in every fpⱼ, so that intervals for them give their low ends to the least value, their high ends to the
greatest.

*Rounding.* NumPy computes s(x − xpⱼ) + fpⱼ with s = (fpⱼ₊₁ − fpⱼ)/(xpⱼ₊₁ − xpⱼ). With M = max |fp|, over all members
of fp, the product is at most 2M and off by 5u of itself, and the sum by u of it: together less than 12u·M = 6·2⁻⁵²·M.
A slope that underflows is off by SMALLEST, and the product then by SMALLEST·(xpⱼ₊₁ − xpⱼ); the product itself may
underflow, too. Our own value at an end is off by as much. Where fp is known and constant, the value is exact.
"""

from typing import Any

import numpy as np

from anyformer.intervals.conditions import refuse_conditions
from anyformer.intervals.ends import Ends, Held, Plain, ends_of, is_point
from anyformer.intervals.errors import IntervalError
from anyformer.intervals.rules.rounding import SMALLEST, ULP

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
    error = _error(points, values)
    low = -_greatest(x, points, -values.low, error, -first.low, -last.low)
    return Ends(low, _greatest(x, points, values.high, error, first.high, last.high))


def _points(xp: Any) -> Plain:
    if isinstance(xp, Held):
        raise IntervalError(f"{_NAME} takes plain numbers xp; got an interval. Write it with np.where and arithmetic.")
    ends = ends_of(xp)
    points = ends.low
    if points.ndim != 1 or not len(points):
        raise ValueError("array of sample points is empty, or no 1-D sequence")
    gaps = np.diff(points)
    if not (is_point(ends) and np.isfinite(points).all() and np.isfinite(gaps).all() and (gaps > 0).all()):
        raise IntervalError(f"{_NAME} takes finite numbers xp, each greater than the one before; got {points}.")
    return points


def _error(points: Plain, values: Ends) -> float:
    """How far a member's value and ours at an end may be off together, whatever the member's fp."""
    if (values.low == values.high[0]).all() and (values.high == values.low[0]).all():
        return 0.0
    widest = np.diff(points).max(initial=0.0)
    size = np.maximum(np.abs(values.low), np.abs(values.high)).max()
    steepest = (2 * size / np.diff(points)).max(initial=0.0)
    if not np.isfinite(2 * size) or not np.isfinite(steepest):
        raise IntervalError(
            f"{_NAME} takes finite numbers fp with finite slopes between them; got fp up to {size} in size."
        )
    return float(16 * ULP * size + 4 * SMALLEST * (1 + widest))


def _greatest(x: Ends, points: Plain, values: Plain, error: float, left: Plain, right: Plain) -> Plain:
    """The greatest value of the function through the points on the intervals x, rounding included."""
    begin, end = np.clip(x.low, points[0], points[-1]), np.clip(x.high, points[0], points[-1])
    at_ends = np.maximum(np.interp(begin, points, values), np.interp(end, points, values))
    first = np.asarray(np.searchsorted(points, x.low, "left"))
    last = np.asarray(np.searchsorted(points, x.high, "right"))
    inside = np.maximum(at_ends, _greatest_between(values, first, last))
    inside = np.where((x.low <= points[-1]) & (x.high >= points[0]), inside + error, -np.inf)
    outside = np.maximum(np.where(x.low < points[0], left, -np.inf), np.where(x.high > points[-1], right, -np.inf))
    return np.asarray(np.maximum(inside, outside))


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
