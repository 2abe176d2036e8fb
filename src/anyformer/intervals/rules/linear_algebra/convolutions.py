"""Products of all pairs: np.inner, np.outer, np.convolve, as the contractions that they are."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from anyformer.intervals.ends import Ends, Plain, ends_of, is_point
from anyformer.intervals.errors import IntervalError
from anyformer.intervals.rules.elementwise.arithmetic import multiply
from anyformer.intervals.rules.linear_algebra.contractions import dot, matmul, tensordot


def inner(a: Any, b: Any) -> Ends:
    """np.inner: the sum of products over both last axes, a plain product if either is a number."""
    first, second = ends_of(a), ends_of(b)
    if first.low.ndim == 0 or second.low.ndim == 0:
        return dot(first, second)
    return tensordot(first, second, (first.low.ndim - 1, second.low.ndim - 1))


def outer(a: Any, b: Any) -> Ends:
    """np.outer: all products of an entry of a and one of b."""
    return multiply(
        _each(ends_of(a), lambda end: end.reshape(-1, 1)), _each(ends_of(b), lambda end: end.reshape(1, -1))
    )


def convolve(a: Any, v: Any, mode: Any = "full") -> Ends:
    """np.convolve: entry n is the sum of a[n − j]·v[j] over all j.

    The longer sequence, with zeros around it, is cut into windows; each is multiplied by the other one reversed. The
    zeros add products that are 0, so that the rounding of `contractions` covers NumPy's sums without them.
    """
    longer, shorter = (_each(ends_of(operand), np.atleast_1d) for operand in (a, v))
    if longer.low.ndim != 1 or shorter.low.ndim != 1:
        raise ValueError("object too deep for desired array")
    if not longer.low.size or not shorter.low.size:
        raise ValueError("a and v cannot be empty")
    if len(shorter.low) > len(longer.low):
        longer, shorter = shorter, longer
    size = len(shorter.low)
    windows = _each(longer, lambda end: sliding_window_view(np.pad(end, size - 1), size))
    full = matmul(windows, _each(shorter, lambda end: end[::-1]))
    return _each(full, lambda end: end[_kept(mode, len(longer.low), size)].copy())


def _kept(mode: Any, longer: int, shorter: int) -> slice:
    """Which part of the full convolution the mode asks for."""
    if mode == "full":
        return slice(None)
    if mode == "valid":
        return slice(shorter - 1, longer)
    if mode == "same":
        return slice((shorter - 1) // 2, (shorter - 1) // 2 + longer)
    raise IntervalError(f"np.convolve on intervals takes the modes full, same and valid; got {mode!r}.")


def _each(a: Ends, change: Any) -> Ends:
    """The same change of both ends; a point stays one."""
    low: Plain = change(a.low)
    return Ends(low, low) if is_point(a) else Ends(low, change(a.high))
