"""Slopes of functions of one number: the divided difference (h(a) − h(c))/(a − c), enclosed for all a of an interval.

If h(a) − h(c) = d·(a − c) with d in D, and a − c = Σ gₖ·(xₖ − cₖ), then D·gₖ are slopes of h(a). For a smooth h,
d = h'(ξ) by the mean value theorem, and d = h'(c) + h''(η)·(a − c)/2 by Taylor's, with ξ and η between a and c. Both
enclose the same number, so their intersection does too. Where h is not differentiable, or its derivative is infinite,
the rules of division and powers say that nothing is known: an infinite slope.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from anyformer.errors import NoSlopes
from anyformer.intervals.ends import Ends, Plain, ends_of
from anyformer.intervals.rules.elementwise import elementary, periodic, special
from anyformer.intervals.rules.elementwise.arithmetic import (
    add,
    divide,
    multiply,
    negative,
    reciprocal,
    square,
    subtract,
)
from anyformer.intervals.rules.elementwise.powers import power
from anyformer.intervals.slopes.forms import HALF, Form, Slopes, between, scaled

Derivative: TypeAlias = Callable[[Ends, Ends], Ends]
"""Of the argument and the value."""

_ONE, _TWO, _THREE, _MINUS_TWO = (ends_of(number) for number in (1.0, 2.0, 3.0, -2.0))


def _about(number: float) -> Ends:
    """A real number that float64 holds to within a few ulps."""
    return Ends(np.asarray(number * (1 - 2.0**-50)), np.asarray(number * (1 + 2.0**-50)))


_LOG_2, _LOG_10, _TWO_OVER_ROOT_PI = _about(float(np.log(2))), _about(float(np.log(10))), _about(2 / np.sqrt(np.pi))


@dataclass(frozen=True)
class Smooth:
    """A function with its first derivative and, where that is simple, its second."""

    first: Derivative
    second: Derivative | None = None

    def __call__(self, y: Form, a: Form) -> Slopes:
        """The slopes of the value y at the argument a."""
        return scaled(self.difference(y, a), a.slopes)

    def difference(self, y: Form, a: Form) -> Ends:
        """The divided difference."""
        broad = self.first(a.box, y.box)
        if self.second is None:
            return broad
        bend = multiply(HALF, multiply(self.second(a.box, y.box), subtract(a.box, a.centre)))
        return between(broad, add(self.first(a.centre, y.centre), bend))


def _one_minus_square(a: Ends) -> Ends:
    return subtract(_ONE, square(a))


def _one_plus_square(a: Ends) -> Ends:
    return add(_ONE, square(a))


def _tanh_bend(a: Ends, y: Ends) -> Ends:
    return multiply(_MINUS_TWO, multiply(y, _one_minus_square(y)))


def _expit_slope(a: Ends, y: Ends) -> Ends:
    return multiply(y, subtract(_ONE, y))


def _expit_bend(a: Ends, y: Ends) -> Ends:
    return multiply(_expit_slope(a, y), subtract(_ONE, multiply(_TWO, y)))


def _log_expit_slope(a: Ends, y: Ends) -> Ends:
    return special.expit(negative(a))


def _log_expit_bend(a: Ends, y: Ends) -> Ends:
    return negative(_expit_slope(a, special.expit(a)))


def _gaussian(a: Ends, y: Ends) -> Ends:
    """2/√π·exp(−a²), the derivative of erf."""
    return multiply(_TWO_OVER_ROOT_PI, _exp(negative(square(a))))


def _arctan_slope(a: Ends, y: Ends) -> Ends:
    return reciprocal(_one_plus_square(a))


def _arctan_bend(a: Ends, y: Ends) -> Ends:
    return divide(multiply(_MINUS_TWO, a), square(_one_plus_square(a)))


def _exp(a: Ends) -> Ends:
    return elementary.INCREASING[np.exp](a)


def _square(y: Form, a: Form) -> Slopes:
    """a² − c² = (a + c)(a − c)."""
    return scaled(add(a.box, a.centre), a.slopes)


def _sqrt(y: Form, a: Form) -> Slopes:
    """√a − √c = (a − c)/(√a + √c)."""
    return scaled(reciprocal(add(y.box, y.centre)), a.slopes)


def _reciprocal(y: Form, a: Form) -> Slopes:
    """1/a − 1/c = −(a − c)/(a·c)."""
    return scaled(negative(multiply(y.box, y.centre)), a.slopes)


def _absolute(y: Form, a: Form) -> Slopes:
    """|a| − |c| is at most |a − c| in size, and ±(a − c) where both have one sign."""
    low = np.where(a.box.low >= 0, 1.0, -1.0)
    high = np.where(a.box.high <= 0, -1.0, 1.0)
    return scaled(Ends(low, high), a.slopes)


def _negative(y: Form, a: Form) -> Slopes:
    return tuple(None if slope is None else negative(slope) for slope in a.slopes)


def _same(y: Form, a: Form) -> Slopes:
    return a.slopes


def stepping(y: Form, *operands: Form) -> Slopes:
    """Any function that is constant between its jumps: where its two ends agree it is one number on the whole box."""
    jumps: Plain = np.asarray(y.box.low != y.box.high)
    if not jumps.any():
        return (None,) * len(operands[0].slopes)
    unknown = Ends(np.where(jumps, -np.inf, 0.0), np.where(jumps, np.inf, 0.0))
    return (unknown,) * len(operands[0].slopes)


def powered(y: Form, a: Form, exponent: Form) -> Slopes:
    """aⁿ for a constant n: n·aⁿ⁻¹ and n(n − 1)·aⁿ⁻²."""
    if not exponent.is_constant or np.ndim(exponent.box.low) or exponent.box.low != exponent.box.high:
        raise NoSlopes
    n = float(exponent.box.low)
    if n in (0.0, 1.0):
        return (None,) * len(a.slopes) if n == 0 else a.slopes
    if n == 2:
        return _square(y, a)

    return (_of_exact_powers(n) if abs(n) < 2.0**20 and n * 2.0**20 % 1 == 0 else _of_other_powers(n))(y, a)


def _of_exact_powers(n: float) -> Smooth:
    """For exponents whose n − 1 and n − 2 are floats."""
    one_less, two_less = ends_of(n - 1), ends_of(n - 2)
    return Smooth(
        lambda a, y: multiply(ends_of(n), power(a, one_less)),
        lambda a, y: multiply(ends_of(n), multiply(one_less, power(a, two_less))),
    )


def _of_other_powers(n: float) -> Smooth:
    """n·aⁿ/a and n(n − 1)·aⁿ/a²."""
    exponent = ends_of(n)
    return Smooth(
        lambda a, y: divide(multiply(exponent, y), a),
        lambda a, y: divide(multiply(multiply(exponent, subtract(exponent, _ONE)), y), square(a)),
    )


SMOOTH: Final[dict[np.ufunc, Smooth]] = {
    np.exp: Smooth(lambda a, y: y, lambda a, y: y),
    np.exp2: Smooth(lambda a, y: multiply(_LOG_2, y), lambda a, y: multiply(square(_LOG_2), y)),
    np.expm1: Smooth(lambda a, y: _exp(a), lambda a, y: _exp(a)),
    np.log: Smooth(lambda a, y: reciprocal(a), lambda a, y: negative(reciprocal(square(a)))),
    np.log2: Smooth(lambda a, y: reciprocal(multiply(_LOG_2, a))),
    np.log10: Smooth(lambda a, y: reciprocal(multiply(_LOG_10, a))),
    np.log1p: Smooth(lambda a, y: reciprocal(add(_ONE, a)), lambda a, y: negative(reciprocal(square(add(_ONE, a))))),
    np.tanh: Smooth(lambda a, y: _one_minus_square(y), _tanh_bend),
    np.sinh: Smooth(lambda a, y: elementary.cosh(a), lambda a, y: y),
    np.cosh: Smooth(lambda a, y: elementary.INCREASING[np.sinh](a), lambda a, y: y),
    np.sin: Smooth(lambda a, y: periodic.cos(a), lambda a, y: negative(y)),
    np.cos: Smooth(lambda a, y: negative(periodic.sin(a)), lambda a, y: negative(y)),
    np.tan: Smooth(lambda a, y: _one_plus_square(y), lambda a, y: multiply(_TWO, multiply(y, _one_plus_square(y)))),
    np.arctan: Smooth(_arctan_slope, _arctan_bend),
    np.arcsin: Smooth(lambda a, y: reciprocal(elementary.sqrt(_one_minus_square(a)))),
    np.arccos: Smooth(lambda a, y: negative(reciprocal(elementary.sqrt(_one_minus_square(a))))),
    np.arcsinh: Smooth(lambda a, y: reciprocal(elementary.sqrt(_one_plus_square(a)))),
    np.arctanh: Smooth(lambda a, y: reciprocal(_one_minus_square(a))),
    np.cbrt: Smooth(lambda a, y: reciprocal(multiply(_THREE, square(y)))),
}

SPECIAL: Final[dict[str, Smooth]] = {
    "expit": Smooth(_expit_slope, _expit_bend),
    "log_expit": Smooth(_log_expit_slope, _log_expit_bend),
    "erf": Smooth(_gaussian, lambda a, y: multiply(multiply(_MINUS_TWO, a), _gaussian(a, y))),
    "erfc": Smooth(lambda a, y: negative(_gaussian(a, y)), lambda a, y: multiply(multiply(_TWO, a), _gaussian(a, y))),
}

OF_ONE: Final[dict[np.ufunc, Callable[[Form, Form], Slopes]]] = {
    **SMOOTH,
    np.square: _square,
    np.sqrt: _sqrt,
    np.reciprocal: _reciprocal,
    np.absolute: _absolute,
    np.fabs: _absolute,
    np.negative: _negative,
    np.positive: _same,
    np.conjugate: _same,
    **dict.fromkeys((np.sign, np.floor, np.ceil, np.rint, np.trunc), stepping),
}
