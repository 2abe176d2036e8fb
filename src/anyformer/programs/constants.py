"""Functions of constants, enclosed: they are computed while a function is traced, and cost a network nothing."""

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.intervals import IntervalArray
from anyformer.programs.functions import FUNCTIONS
from anyformer.programs.numbers import Number, enclosed


def applied(function: str, number: Number, parameter: float | None) -> Number:
    """The function of a constant, enclosed."""
    low, high = number.value - np.asarray(number.doubt), number.value + np.asarray(number.doubt)
    if np.any(number.doubt):
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    if not (np.asarray(low) >= FUNCTIONS[function].least).all():
        raise NotTraceable(f"{function} has no value at {float(np.min(low))!r}, which the function asks for")
    result = FUNCTIONS[function].value(IntervalArray(np.atleast_1d(low), np.atleast_1d(high)), parameter)
    if not (np.isfinite(result.low).all() and np.isfinite(result.high).all()):
        raise NotTraceable(f"{function} has no finite value at {float(np.min(low))!r}, which the function asks for")
    if np.ndim(number.value) == 0:
        return enclosed(float(result.low[0]), float(result.high[0]))
    return enclosed(result.low, result.high)
