"""Moving ends outwards, so that neither our rounding nor NumPy's leaves an enclosure.

Every rule of this folder shows two things for members of the arguments: the exact result lies between the ends, and so
does the float64 that NumPy computes. Composed, they hold for a whole function: its exact value and NumPy's both lie in
the final enclosure. Where a step may have no value, NaN in float64, nothing is known: see `undefined`.

Why adding |x|·2⁻⁵² is enough for one correctly rounded operation. Let x be its float64 result, a normal number
m·2ᵉ with 1 ≤ m < 2. The exact result is within half an ulp, 2ᵉ⁻⁵³, of x. |x|·2⁻⁵² = m·2ᵉ⁻⁵² is at least one ulp, and so
|x| ± m·2ᵉ⁻⁵², rounded, is at or beyond the neighbours of |x| on that scale, rounding being monotone. Nor is the move
lost where m·2ᵉ⁻⁵² is subnormal: it rounds to one or two times 2⁻¹⁰⁷⁴, the ulp there. The result moves two ulps at
most. Subnormal results of additions are exact; those of products are not, and `arithmetic` widens them.
NumPy's own result for members between the ends is between its results at the ends: rounding is monotone.
"""

from typing import Final

import numpy as np

from anyformer.intervals.ends import Ends, Plain

ULP: Final = 2.0**-52
SMALLEST: Final = 5e-324
SMALLEST_NORMAL: Final = 2.0**-1022
LARGEST: Final = float(np.finfo(np.float64).max)

# NumPy's elementary functions are within 4 ulp of the exact value. A member's float64 result may be 4 ulp beyond the
# exact value at an end, our own value at that end 4 ulp inside of it, and the end itself must then be rounded.
ELEMENTARY_ULPS: Final = 16


def lowered(x: Plain, relative: float = ULP, absolute: Plain | float = 0.0) -> Plain:
    """A new array below x by |x|·relative + absolute.

    An unknown end, ∞ − ∞, becomes −∞. A low end of +∞ only means that float64 overflowed: LARGEST is taken for it.
    """
    x = np.asarray(x)
    if not np.isfinite(x).all():
        x = np.asarray(np.where(np.isnan(x), -np.inf, np.minimum(x, LARGEST)))
    moved = _size(x, relative, absolute)
    return np.subtract(x, moved, out=moved)


def raised(x: Plain, relative: float = ULP, absolute: Plain | float = 0.0) -> Plain:
    """A new array above x by |x|·relative + absolute; the mirror image of `lowered`."""
    x = np.asarray(x)
    if not np.isfinite(x).all():
        x = np.asarray(np.where(np.isnan(x), np.inf, np.maximum(x, -LARGEST)))
    moved = _size(x, relative, absolute)
    return np.add(x, moved, out=moved)


def all_finite(*ends: Plain) -> bool:
    """Whether nothing is infinite or NaN. Then nothing was in the arguments of a sum, product or quotient either."""
    return all(bool(np.isfinite(end).all()) for end in ends)


def outward(low: Plain, high: Plain) -> Ends:
    """Ends that one correctly rounded operation computed, moved by one or two ulps. What is 0 stays 0."""
    return Ends(lowered(low), raised(high))


def outward_finite(low: Plain, high: Plain) -> Ends:
    """The same for ends that are known to be finite."""
    down, up = _size(low, ULP, 0.0), _size(high, ULP, 0.0)
    return Ends(np.subtract(low, down, out=down), np.add(high, up, out=up))


def loosened(low: Plain, high: Plain) -> Ends:
    """Ends that an elementary function of NumPy computed, moved by its error.

    `absolute` is that error where the result is subnormal, whose ulp is SMALLEST.
    """
    relative, absolute = ELEMENTARY_ULPS * ULP, ELEMENTARY_ULPS * SMALLEST
    return Ends(lowered(low, relative, absolute), raised(high, relative, absolute))


def known_between(low: Plain, high: Plain) -> Ends:
    """The ends with everything unknown, NaN, made infinite."""
    if all_finite(low, high):
        return Ends(low, high)
    return Ends(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def _size(x: Plain, relative: float, absolute: Plain | float) -> Plain:
    x = np.asarray(x)
    size = np.multiply(x, relative, out=np.empty_like(x))
    np.abs(size, out=size)
    if isinstance(absolute, float):
        if absolute:
            size += absolute
        return size
    return np.asarray(size + absolute)
