"""Elementary functions that are monotone, or even and monotone in |x|: their extremes are at the ends.

A monotone f maps [low, high] onto [f(low), f(high)]. NumPy's value at a member is within 4 ulp of the exact one, as is
the value at an end that stands for it, and `loosened` moves the ends by more than both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from anyformer.intervals.ends import Ends, Plain, magnitudes
from anyformer.intervals.rules.rounding import loosened, outward
from anyformer.intervals.rules.undefined import outside, unknown


@dataclass(frozen=True)
class Increasing:
    """An increasing function on [least, greatest]; nothing is known of a result if an argument may lie beyond.

    `zero_is_exact`: a float64 result of 0 is the exact result, as for sinh but not for exp, which underflows.
    """

    function: Callable[[Plain], Plain]
    least: float = -np.inf
    greatest: float = np.inf
    zero_is_exact: bool = True

    def __call__(self, a: Ends) -> Ends:
        """Enclose the function's values."""
        beyond = self._beyond(a)
        if beyond is None:
            return self._inside(a)
        result = self._inside(Ends(*(np.clip(end, self.least, self.greatest) for end in (a.low, a.high))))
        needed = f"between {self.least} and {self.greatest}"
        return unknown(result, beyond, outside(f"np.{self.function.__name__}", needed, a, beyond))

    def _beyond(self, a: Ends) -> Plain | None:
        if (self.least > -np.inf and (a.low < self.least).any()) or (
            self.greatest < np.inf and (a.high > self.greatest).any()
        ):
            return np.asarray((a.low < self.least) | (a.high > self.greatest))
        return None

    def _inside(self, a: Ends) -> Ends:
        low, high = np.asarray(self.function(a.low)), np.asarray(self.function(a.high))
        result = loosened(low, high)
        if self.zero_is_exact:
            _restore_zeros(result, low, high)
        else:
            # What underflows here is a power of a positive number: never negative, in float64 neither.
            np.maximum(result.low, 0.0, out=result.low)
        return result


def _restore_zeros(result: Ends, low: Plain, high: Plain) -> None:
    """Ends that are exactly 0 stay so: a non-negative argument keeps a non-negative result."""
    if (low == 0).any():
        result.low = np.where(low == 0, 0.0, result.low)
    if (high == 0).any():
        result.high = np.where(high == 0, 0.0, result.high)


def sqrt(a: Ends) -> Ends:
    """√a, correctly rounded by IEEE 754; no value for negative members."""
    negative = a.low < 0
    if not negative.any():
        return outward(np.sqrt(a.low), np.sqrt(a.high))
    advice = "np.sqrt(np.maximum(v, 0)) is defined everywhere."
    result = outward(np.sqrt(np.maximum(a.low, 0.0)), np.sqrt(np.maximum(a.high, 0.0)))
    return unknown(result, negative, outside("np.sqrt", "that are at least 0", a, negative, advice))


def cosh(a: Ends) -> Ends:
    """cosh a = cosh |a|, increasing in |a|."""
    least, greatest = magnitudes(a)
    return loosened(np.cosh(least), np.cosh(greatest))


def arccos(a: Ends) -> Ends:
    """arccos a = −(−arccos a), and −arccos is increasing on [−1, 1]."""
    mirrored = _MINUS_ARCCOS(a)
    return Ends(-mirrored.high, -mirrored.low)


def _minus_arccos(x: Plain) -> Plain:
    return -np.arccos(x)


_minus_arccos.__name__ = "arccos"
_MINUS_ARCCOS: Final = Increasing(_minus_arccos, -1.0, 1.0)

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
