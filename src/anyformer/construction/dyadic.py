"""Powers of two, by which every floating-point type multiplies and divides exactly."""

import math


def power_of_two_above(x: float) -> float:
    """The smallest power of two that is at least x > 0."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)


def power_of_two_below(x: float) -> float:
    """The largest power of two that is at most x > 0."""
    return math.ldexp(1.0, math.frexp(x)[1] - 1)
