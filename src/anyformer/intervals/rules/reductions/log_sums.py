"""np.logaddexp.reduce and np.logaddexp2.reduce: the logarithm of a sum of powers along axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyformer.intervals.ends import Ends
from anyformer.intervals.rules.elementwise.elementary_of_two import SUM_ERROR
from anyformer.intervals.rules.reductions.sums import count
from anyformer.intervals.rules.rounding import ULP, lowered, raised


def log_of_sum_of_powers(function: np.ufunc) -> Callable[..., Ends]:
    """np.logaddexp.reduce and its like, in whatever order NumPy takes the entries.

    The exact value is increasing in every entry. Every step of NumPy's is off by less than SUM_ERROR/2 and u of its
    result, whose size is at most S = max |entry| + log₂ k for k entries; and no step makes the errors of its arguments
    larger, since its two slopes add up to 1. So NumPy's result is off by at most k·(SUM_ERROR/2 + u·S), and so is ours.
    """

    def reduced(a: Ends, axis: Any = 0, keepdims: bool = False) -> Ends:
        terms = max(count(a.low.shape, axis), 1)
        ends = [np.asarray(function.reduce(end, axis=axis, keepdims=keepdims)) for end in (a.low, a.high)]
        sizes = [np.where(np.isfinite(end), np.abs(end), 0.0) for end in (a.low, a.high)]
        size = np.max(np.maximum(*sizes), axis=axis, keepdims=keepdims, initial=0.0) + np.log2(terms)
        error = np.asarray(terms * (SUM_ERROR + ULP * size))
        return Ends(lowered(ends[0], ULP, error), raised(ends[1], ULP, error))

    return reduced
