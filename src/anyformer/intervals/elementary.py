"""Elementary functions that are monotone, or even and monotone in |x|: their extremes are at the ends.

A monotone f maps [low, high] onto [f(low), f(high)]. NumPy's value at a member is within 4 ulp of the exact one, as is
the value at an end that stands for it, and `loosened` moves the ends by more than both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from anyformer.intervals.ends import Ends, Plain, magnitudes
from anyformer.intervals.errors import ADVICE, IntervalError
from anyformer.intervals.rounding import loosened, outward


@dataclass(frozen=True)
class Increasing:
    """An increasing function on [least, greatest]; arguments are clipped to it, and one beyond it is an error.

    `zero_is_exact`: a float64 result of 0 is the exact result, as for sinh but not for exp, which underflows.
    """

    function: Callable[[Plain], Plain]
    least: float = -np.inf
    greatest: float = np.inf
    zero_is_exact: bool = True

    def __call__(self, a: Ends) -> Ends:
        """Enclose the function's values."""
        a = self._inside(a)
        low, high = self.function(a.low), self.function(a.high)
        result = loosened(low, high)
        if self.zero_is_exact:
            _restore_zeros(result, low, high)
        else:
            # What underflows here is a power of a positive number: never negative, in float64 neither.
            np.maximum(result.low, 0.0, out=result.low)
        return result

    def _inside(self, a: Ends) -> Ends:
        if (a.high < self.least).any() or (a.low > self.greatest).any():
            outside = (a.high < self.least) | (a.low > self.greatest)
            raise out_of_domain(self.function, f"between {self.least} and {self.greatest}", a, outside)
        low = np.maximum(a.low, self.least) if np.isfinite(self.least) else a.low
        high = np.minimum(a.high, self.greatest) if np.isfinite(self.greatest) else a.high
        return Ends(low, high)


def _restore_zeros(result: Ends, low: Plain, high: Plain) -> None:
    """Ends that are exactly 0 stay so: a non-negative argument keeps a non-negative result."""
    if (low == 0).any():
        result.low = np.where(low == 0, 0.0, result.low)
    if (high == 0).any():
        result.high = np.where(high == 0, 0.0, result.high)


def sqrt(a: Ends) -> Ends:
    """√a, correctly rounded by IEEE 754; negative members are an error."""
    if (a.low < 0).any():
        raise out_of_domain(
            np.sqrt, "that are at least 0", a, a.low < 0, "np.sqrt(np.maximum(v, 0)) is defined everywhere."
        )
    return outward(np.sqrt(a.low), np.sqrt(a.high))


def cosh(a: Ends) -> Ends:
    """cosh a = cosh |a|, increasing in |a|."""
    least, greatest = magnitudes(a)
    return loosened(np.cosh(least), np.cosh(greatest))


def arccos(a: Ends) -> Ends:
    """arccos a: decreasing, on [−1, 1]."""
    inside = Increasing(np.arccos, -1.0, 1.0)._inside(a)
    low, high = np.arccos(inside.high), np.arccos(inside.low)
    result = loosened(low, high)
    _restore_zeros(result, low, high)
    return result


def out_of_domain(
    function: Callable[[Plain], Plain], needed: str, a: Ends, outside: Plain, advice: str = ADVICE
) -> IntervalError:
    """The error for a function whose argument may lie where it has no value; shows the first such argument."""
    low = np.broadcast_to(a.low, outside.shape)[outside].flat[0]
    high = np.broadcast_to(a.high, outside.shape)[outside].flat[0]
    return IntervalError(
        f"The function may leave its domain on this box: np.{function.__name__} needs arguments {needed};"
        f" got the interval [{float(low)!r}, {float(high)!r}]. {advice}"
    )


INCREASING: Final[dict[np.ufunc, Increasing]] = {
    np.exp: Increasing(np.exp, zero_is_exact=False),
    np.exp2: Increasing(np.exp2, zero_is_exact=False),
    np.expm1: Increasing(np.expm1),
    np.log: Increasing(np.log, least=0.0),
    np.log2: Increasing(np.log2, least=0.0),
    np.log10: Increasing(np.log10, least=0.0),
    np.log1p: Increasing(np.log1p, least=-1.0),
    np.cbrt: Increasing(np.cbrt),
    np.tanh: Increasing(np.tanh),
    np.sinh: Increasing(np.sinh),
    np.arctan: Increasing(np.arctan),
    np.arcsin: Increasing(np.arcsin, -1.0, 1.0),
    np.arcsinh: Increasing(np.arcsinh),
    np.arccosh: Increasing(np.arccosh, least=1.0),
    np.arctanh: Increasing(np.arctanh, -1.0, 1.0),
}
