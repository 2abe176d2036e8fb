"""Functions of constants, enclosed: they are computed while a function is traced, and cost a network nothing."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.intervals import IntervalArray
from anyformer.programs.functions import FUNCTIONS
from anyformer.programs.numbers import Number, enclosed


def applied(function: str, number: Number, parameter: float | None) -> Number:
    """The function of a constant, enclosed; without doubt where it is known exactly."""
    result = _enclosed(function, number, parameter)
    exact = _EXACT.get(function)
    if exact is None:
        return result
    is_exact = exact(np.asarray(number.value)) & np.equal(number.doubt, 0)
    with np.errstate(all="ignore"):
        value = np.where(is_exact, getattr(np, function)(np.asarray(number.value, dtype=np.float64)), result.value)
    doubt = np.where(is_exact, 0.0, result.doubt)
    return Number(value, doubt) if value.ndim else Number(float(value), float(doubt))


# Where NumPy's value of a function is exact.
_EXACT: Final[dict[str, Callable[[Any], Any]]] = {
    "reciprocal": lambda v: np.abs(np.frexp(v)[0]) == 0.5,
    "square": lambda v: (v == np.round(v)) & (np.abs(v) <= 2.0**26),
    "exp": lambda v: v == 0,
    "log": lambda v: v == 1,
}


def _enclosed(function: str, number: Number, parameter: float | None) -> Number:
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
