"""Whole numbers that describe a pattern: tokens, widths, strides, seeds."""

import math
import operator

from anyformer.patterns.errors import PatternError


def whole_number(name: str, value: int, least: int) -> int:
    """`value` as an int, or a PatternError that names it.

    >>> whole_number("half_width", 3, least=1)
    3
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise PatternError(f"{name} must be a whole number; got {value!r}. Give an int of at least {least}.") from None
    if number < least:
        raise PatternError(f"{name} must be at least {least}; got {number}. Give a larger {name}.")
    return number


def about_root(tokens: int) -> int:
    """⌈√tokens⌉, the width at which two layers of √n keys a token reach everybody.

    >>> about_root(17)
    5
    """
    return math.isqrt(tokens - 1) + 1
