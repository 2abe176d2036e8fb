"""Whole numbers that describe a pattern: tokens, widths, strides, seeds."""

import functools
import math

from anyformer.errors import PatternError
from anyformer.whole_numbers import whole_number as whole_number_or

whole_number = functools.partial(whole_number_or, error=PatternError)


def about_root(tokens: int) -> int:
    """⌈√tokens⌉, the width at which two layers of √n keys a token reach everybody.

    >>> about_root(17)
    5
    """
    return math.isqrt(tokens - 1) + 1
