"""Numbers as figures show them: three digits; bounds rounded up, so that what is shown is true as well."""

import math
from decimal import ROUND_CEILING, Context, Decimal

DIGITS = 3
# Larger numbers are not drawn: axes need room above them.
LARGEST = 1e100


def at_most(value: float) -> str:
    """A bound, rounded up.

    >>> at_most(0.098293765), at_most(6.9444444e-05), at_most(0.5)
    ('0.0983', '6.95e-05', '0.5')
    """
    if not math.isfinite(value):
        return f"{value:g}"
    return f"{float(Context(prec=DIGITS, rounding=ROUND_CEILING).create_decimal(Decimal(value))):.{DIGITS}g}"


def norm(p: float) -> str:
    """The name of a norm.

    >>> norm(2.0), norm(1.5)
    ('L²', 'L^1.5')
    """
    return "L²" if p == 2 else f"L^{p:g}"


def about(value: float) -> str:
    """Something measured, rounded to nearest."""
    return f"{value:.{DIGITS}g}"
