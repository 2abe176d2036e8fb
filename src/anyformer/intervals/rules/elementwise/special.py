"""Functions of scipy.special that are ufuncs: expit, log_expit, erf, erfc, xlogy.

They are listed by name: SciPy is used only if the user's code has imported it.

*Errors.* Let the C library's exp and log1p be within 4 ulp, 8u of the result with u = 2⁻⁵³.
- expit is 1/(1 + exp(−x)): 8u of the exponential, two roundings; together 10u of the result. Below −709.78 the
  exponential overflows and SciPy's result is 0, where the exact one is less than SMALLEST_NORMAL.
- log_expit is −log1p(exp(−x)) for x ≥ 0 and x − log1p(exp(x)) below, where both terms have one sign: 8u of the
  exponential, 8u of the logarithm, which is less sensitive than proportional, one rounding; together 17u.
- erf is Cephes's, whose documentation states a greatest relative error of 3.7·10⁻¹⁶ < 4u.
- erfc is Cephes's, too: exp(−x²) times a rational function. x² ≤ 709.8 is rounded, which makes the exponential off by
  710u; it is itself off by 8u, and the rational function by less than 32u: together less than 1024u = 2⁻⁴³.
A member's value may be as far off as ours at an end: MARGIN = 64·2⁻⁵² = 128u is more than twice 17u, and ERFC_MARGIN is
2⁻⁴¹. Results below the normal numbers are off by MARGIN_BELOW at most, which is as many times SMALLEST; erfc's are
off by SMALLEST_NORMAL, since Cephes gives 0 there.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from anyformer.intervals.ends import Ends, Plain
from anyformer.intervals.rules.elementwise.arithmetic import product_outward
from anyformer.intervals.rules.elementwise.elementary import INCREASING
from anyformer.intervals.rules.rounding import SMALLEST, SMALLEST_NORMAL, ULP, lowered, outward, raised
from anyformer.intervals.rules.undefined import INFINITIES, outside, unknown

MARGIN: Final = 64 * ULP
MARGIN_BELOW: Final = 64 * SMALLEST
ERFC_MARGIN: Final = 2.0**-41


def scipy_special(name: str) -> Any:
    """The function of scipy.special with this name, if SciPy has been imported; None otherwise."""
    return getattr(sys.modules.get("scipy.special"), name, None)


def rising(a: Ends) -> tuple[Plain, Plain]:
    """The ends in the order of an increasing function's values."""
    return a.low, a.high


def falling(a: Ends) -> tuple[Plain, Plain]:
    """The ends in the order of a decreasing function's values."""
    return a.high, a.low


@dataclass(frozen=True)
class Monotone:
    """A monotone function with values in [least, greatest], off by relative and absolute errors."""

    name: str
    least: float
    greatest: float
    relative: float = MARGIN
    absolute: float = MARGIN_BELOW
    in_order: Callable[[Ends], tuple[Plain, Plain]] = rising

    def __call__(self, a: Ends) -> Ends:
        """Enclose the function's values."""
        function = scipy_special(self.name)
        first, last = self.in_order(a)
        low = lowered(np.asarray(function(first)), self.relative, self.absolute)
        high = raised(np.asarray(function(last)), self.relative, self.absolute)
        return Ends(np.maximum(low, self.least), np.minimum(high, self.greatest))


def erf(a: Ends) -> Ends:
    """Increasing and odd; 0 at 0 alone, exactly."""
    result = _ERF(a)
    low = np.where(a.low >= 0, np.maximum(result.low, 0.0), result.low)
    return Ends(low, np.where(a.high <= 0, np.minimum(result.high, 0.0), result.high))


def xlogy(a: Ends, b: Ends) -> Ends:
    """a·log b, and 0 for a = 0 whatever b is: a product with extremes at corners, where 0·∞ counts as 0."""
    beyond = np.asarray((b.low < 0) & ((a.low != 0) | (a.high != 0)))
    logarithm = INCREASING[np.log](Ends(np.maximum(b.low, 0.0), np.maximum(b.high, 0.0)))
    corners = [_product(x, y) for x in (a.low, a.high) for y in (logarithm.low, logarithm.high)]
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    result = product_outward(outward(low, high), low, high, a, logarithm)
    infinite = np.isinf(a.low) | np.isinf(a.high)
    result = unknown(result, np.asarray(infinite & (logarithm.low <= 0) & (logarithm.high >= 0)), INFINITIES)
    if not beyond.any():
        return result
    return unknown(result, beyond, outside("scipy.special.xlogy", "y that are at least 0", b, beyond))


def _product(x: Plain, y: Plain) -> Plain:
    product = np.asarray(x * y)
    return np.where(np.isnan(product), 0.0, product)


_ERF: Final = Monotone("erf", -1.0, 1.0)
expit: Final = Monotone("expit", 0.0, 1.0, absolute=SMALLEST_NORMAL)
log_expit: Final = Monotone("log_expit", -np.inf, 0.0)
erfc: Final = Monotone("erfc", 0.0, 2.0, ERFC_MARGIN, SMALLEST_NORMAL, falling)
