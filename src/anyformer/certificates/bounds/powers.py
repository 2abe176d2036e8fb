"""p-th powers that cannot underflow to 0: errors are first measured in units of about the tolerance.

|f − g|^p is 0 in float64 for p = 400 and an error of 0.1, or for p = 2 and errors of 10⁻¹⁷⁰. Divided by a power of two
near the tolerance, which is exact, an error that matters has a power near 1. What still underflows is rounded up to the
smallest float, so a bound is never too small. Overflow is an infinite bound.
"""

import math

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.propagation.enclosures import SMALLEST, ULP, up
from anyformer.errors import CertificateError

# A larger p gains nothing: on a domain of volume 1 the L^64 norm is within a few per cent of the largest error.
MOST_P = 64.0
# More than the relative error of a power of a number that is itself known to a few ulps, for p up to MOST_P.
ROUNDING = 2.0**-40
# Twenty bits above the smallest normal float.
SMALLEST_ORDINARY = 2.0**-1002
LEAST_TOLERANCE, MOST_TOLERANCE = 2.0**-500, 2.0**500


def check_exponent(p: float, *, takes_infinity: bool = False) -> None:
    """Raise unless 1 <= p <= MOST_P, or p is infinite where that is taken."""
    if not 1 <= p <= MOST_P and not (takes_infinity and p == math.inf):
        raise CertificateError(f"p must be at least 1 and at most {MOST_P:g}; got {p!r}. Choose another norm.")


def exponent_data(p: float) -> float | str:
    """An exponent for JSON, which has no infinity."""
    return "inf" if p == math.inf else p


def unit_for(tolerance: float) -> float:
    """A power of two near the tolerance; 1 where there is none."""
    return 1.0 if tolerance == math.inf else 2.0 ** math.floor(math.log2(tolerance))


def power_above(x: Array, unit: float, p: float) -> Array:
    """At least (x/unit)^p for x >= 0; 0 only where x is 0, NaN where x is NaN."""
    with np.errstate(over="ignore", under="ignore"):
        # The quotient may underflow too; the true quotient is still above 0.
        ratio = up(x) / unit * (1 + 8 * ULP) + SMALLEST
        return np.where(x <= 0, 0.0, ratio**p * (1 + ROUNDING) + SMALLEST)


def power_below(x: Array, unit: float, p: float) -> Array:
    """At most (x/unit)^p for x >= 0."""
    with np.errstate(over="ignore", under="ignore"):
        power = np.asarray((x / unit * (1 - ROUNDING)) ** p)
        # Near the smallest floats the rounding is no longer a share of the power, and may have gone up; 0 is below.
        power = np.where(power < SMALLEST_ORDINARY, 0.0, power)
        # A power that overflowed is still at least as large as any float.
        return np.nan_to_num(power, nan=0.0, posinf=np.finfo(np.float64).max)
