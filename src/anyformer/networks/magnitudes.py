"""Which numbers are *tame*: 0, or so far from float64's ends that a few more factors do not overflow or underflow.

The rules for layers that may be skipped, and for their kinks −b/a, hold for tame numbers. A layer with other numbers is
never skipped (`runs`), and the checker decides nothing about a network that has one.
"""

import numpy as np

from anyformer.arrays import Array, Booleans

LEAST_TAME, MOST_TAME = 2.0**-1000, 2.0**1000


def tame(x: Array) -> Booleans:
    """Entry by entry: exactly 0, or between 2⁻¹⁰⁰⁰ and 2¹⁰⁰⁰ in magnitude. NaN is not."""
    size = np.abs(x)
    return np.asarray((size == 0) | ((size >= LEAST_TAME) & (size <= MOST_TAME)))
