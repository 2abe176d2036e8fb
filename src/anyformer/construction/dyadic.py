"""Powers of two, by which float64 multiplies and divides exactly."""

import math

FLOAT_BITS = 53
"""The bits of a float64's mantissa: whole numbers with so many bits are exact."""


def power_of_two_above(x: float) -> float:
    """The smallest power of two that is at least x > 0."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)


def power_of_two_below(x: float) -> float:
    """The largest power of two that is at most x > 0."""
    return math.ldexp(1.0, math.frexp(x)[1] - 1)
