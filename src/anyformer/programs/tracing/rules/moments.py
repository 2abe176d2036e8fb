"""Averages, variances and norms."""

from typing import Any

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.programs.constants import applied
from anyformer.programs.numbers import Number
from anyformer.programs.tracing.rules.elementwise import arithmetic
from anyformer.programs.tracing.rules.orders import greatest
from anyformer.programs.tracing.rules.reductions import axes_of, mean, scaled, total
from anyformer.programs.tracing.traced import Traced


def average(traced: Traced, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Traced:
    """np.average with constant or traced weights."""
    if weights is None:
        return mean(traced, axis, keepdims)
    if not isinstance(axis, int | np.integer):
        raise NotTraceable("np.average with weights takes one axis when it is traced; name it.")
    if not isinstance(weights, Traced):
        weights = np.asarray(weights, dtype=np.float64)
        if weights.ndim == 1:
            weights = weights.reshape([-1 if at == axis % len(traced.axes) else 1 for at in range(len(traced.axes))])
        shares = weights / weights.sum(axis=axis, keepdims=True)
        return total(arithmetic(traced.run, np.multiply, traced, shares), axis, keepdims)
    weighted = total(arithmetic(traced.run, np.multiply, traced, weights), axis, keepdims)
    return arithmetic(traced.run, np.divide, weighted, total(weights, axis, keepdims))


def variance(traced: Traced, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Traced:
    """The mean square of the deviations from the mean."""
    axes = axes_of(traced, axis, "np.var")
    count = int(np.prod([traced.axes[at].size for at in axes]))
    apart = arithmetic(traced.run, np.subtract, traced, mean(traced, tuple(axes), keepdims=True))
    squares = arithmetic(traced.run, np.square, apart)
    if ddof == 0:
        return mean(squares, tuple(axes), keepdims)
    share = applied("reciprocal", Number(float(count - ddof)), None)
    return scaled(total(squares, tuple(axes), keepdims), share)


def deviation(traced: Traced, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Traced:
    """The root of the variance."""
    return arithmetic(traced.run, np.sqrt, variance(traced, axis, ddof, keepdims))


def norm(traced: Traced, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Traced:
    """np.linalg.norm of vectors."""
    if axis is None or (not np.isscalar(axis) and ord is not None):
        raise NotTraceable("np.linalg.norm must be told the axis of its vectors when it is traced: axis=-1.")
    if ord is None or ord == 2:
        return arithmetic(traced.run, np.sqrt, total(arithmetic(traced.run, np.square, traced), axis, keepdims))
    sizes = arithmetic(traced.run, np.absolute, traced)
    if ord == 1:
        return total(sizes, axis, keepdims)
    if ord == np.inf:
        return greatest(sizes, axis, keepdims)
    raise NotTraceable(f"np.linalg.norm of order {ord!r} cannot be traced; take 1, 2 or np.inf.")
