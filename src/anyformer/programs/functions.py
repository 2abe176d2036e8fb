"""Smooth functions of one number that a feed-forward layer can compute, with their derivatives on intervals.

A function is a value with a name; `jet` gives enclosures of its value and its first two derivatives from an enclosure
of its argument (the chain rule is in `jets`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from anyformer.intervals import IntervalArray

Interval = Any  # IntervalArray, whose operators come from NumPy's mixin
Derivatives = tuple[Interval, Interval, Interval]


@dataclass(frozen=True)
class SmoothFunction:
    """A function with its first two derivatives: `jet(u, parameter)` is (f, f′, f″) on the intervals u."""

    name: str
    jet: Callable[[Interval, float | None], Derivatives]
    least: float = -np.inf
    """Below this it has no value. At it, derivatives may be infinite."""

    def value(self, u: Interval, parameter: float | None = None) -> Interval:
        """An enclosure of the function."""
        return self.jet(u, parameter)[0]


def _exp(u: Interval, _: float | None) -> Derivatives:
    e = np.exp(u)
    return e, e, e


def _expm1(u: Interval, _: float | None) -> Derivatives:
    e = np.exp(u)
    return np.expm1(u), e, e


def _log(u: Interval, _: float | None) -> Derivatives:
    r = 1.0 / u
    return np.log(u), r, -np.square(r)


def _log1p(u: Interval, _: float | None) -> Derivatives:
    r = 1.0 / (1.0 + u)
    return np.log1p(u), r, -np.square(r)


def _sqrt(u: Interval, _: float | None) -> Derivatives:
    s = np.sqrt(u)
    r = _reciprocal_of_nonnegative(s)
    return s, 0.5 * r, -0.25 * (r * np.square(r))


def _reciprocal(u: Interval, _: float | None) -> Derivatives:
    r = 1.0 / u
    return r, -np.square(r), 2.0 * (r * np.square(r))


def _square(u: Interval, _: float | None) -> Derivatives:
    return np.square(u), 2.0 * u, _all(2.0, u)


def _power(u: Interval, k: float | None) -> Derivatives:
    """Whole exponents from 3 up, and any exponent on positive numbers."""
    assert k is not None
    return u**k, k * _lowered(u, k, 1), k * (_minus_one(k) * _lowered(u, k, 2))


def _lowered(u: Interval, k: float, by: int) -> Interval:
    """u^(k − by). The exponent is rounded by δ, which changes the power by a factor u^δ: as |log u| < 746 for float64,
    that is within 1 ± 1500·δ."""
    exponent = k - by
    off = abs(float(Fraction(k) - by - Fraction(exponent)))
    power = u**exponent
    return (
        power if off == 0 else power * IntervalArray(np.full(u.shape, 1 - 1500 * off), np.full(u.shape, 1 + 1500 * off))
    )


def _minus_one(k: float) -> Interval:
    """k − 1, enclosed."""
    return IntervalArray(k, k) - 1.0


def _tanh(u: Interval, _: float | None) -> Derivatives:
    t = np.tanh(u)
    slope = np.square(1.0 / np.cosh(u))
    return t, slope, -2.0 * (t * slope)


def _sinh(u: Interval, _: float | None) -> Derivatives:
    s = np.sinh(u)
    return s, np.cosh(u), s


def _cosh(u: Interval, _: float | None) -> Derivatives:
    c = np.cosh(u)
    return c, np.sinh(u), c


def _sin(u: Interval, _: float | None) -> Derivatives:
    s = np.sin(u)
    return s, np.cos(u), -s


def _cos(u: Interval, _: float | None) -> Derivatives:
    c = np.cos(u)
    return c, -np.sin(u), -c


def _arctan(u: Interval, _: float | None) -> Derivatives:
    r = 1.0 / (1.0 + np.square(u))
    return np.arctan(u), r, -2.0 * (u * np.square(r))


def _arcsinh(u: Interval, _: float | None) -> Derivatives:
    r = 1.0 / (1.0 + np.square(u))
    root = np.sqrt(r)
    return np.arcsinh(u), root, -(u * (r * root))


def _sigmoid(u: Interval, _: float | None) -> Derivatives:
    # σ = (1 + tanh(u/2))/2, σ′ = 1/(4 cosh²(u/2)), σ″ = −tanh(u/2)·σ′
    t = np.tanh(0.5 * u)
    slope = 0.25 * np.square(1.0 / np.cosh(0.5 * u))
    return 0.5 * (1.0 + t), slope, -(t * slope)


def _erf(u: Interval, _: float | None) -> Derivatives:
    from scipy.special import erf

    # 2/√π lies between these neighbours.
    factor = IntervalArray(np.nextafter(2 / np.sqrt(np.pi), 0.0) * (1 - 2.0**-52), 2 / np.sqrt(np.pi) * (1 + 2.0**-51))
    slope = factor * np.exp(-np.square(u))
    return erf(u), slope, -2.0 * (u * slope)


def _all(value: float, like: Interval) -> Interval:
    filled = np.full(like.shape, value)
    return IntervalArray(filled, filled)


def _reciprocal_of_nonnegative(u: Interval) -> Interval:
    """1/u for u ≥ 0, infinite above where u may be 0."""
    with np.errstate(divide="ignore"):
        low = np.where(u.high > 0, np.nextafter(1.0 / np.where(u.high > 0, u.high, 1.0), 0.0), np.inf)
        high = np.where(u.low > 0, np.nextafter(1.0 / np.where(u.low > 0, u.low, 1.0), np.inf), np.inf)
    return IntervalArray(np.minimum(low, np.finfo(float).max), high)


FUNCTIONS: Final = {
    one.name: one
    for one in (
        SmoothFunction("exp", _exp),
        SmoothFunction("expm1", _expm1),
        SmoothFunction("log", _log, least=0.0),
        SmoothFunction("log1p", _log1p, least=-1.0),
        SmoothFunction("sqrt", _sqrt, least=0.0),
        SmoothFunction("reciprocal", _reciprocal),
        SmoothFunction("square", _square),
        SmoothFunction("power", _power),
        SmoothFunction("tanh", _tanh),
        SmoothFunction("sinh", _sinh),
        SmoothFunction("cosh", _cosh),
        SmoothFunction("sin", _sin),
        SmoothFunction("cos", _cos),
        SmoothFunction("arctan", _arctan),
        SmoothFunction("arcsinh", _arcsinh),
        SmoothFunction("sigmoid", _sigmoid),
        SmoothFunction("erf", _erf),
    )
}
