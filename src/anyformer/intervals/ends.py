"""The data of an interval array: two plain arrays, entry by entry the least and the greatest member.

All arithmetic of this folder works on `Ends`; `IntervalArray` and `Tristate` are `Ends` that NumPy's functions accept.
Ends of booleans say what holds for every member (low) and what holds for some (high).
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anyformer.intervals.errors import ADVICE, IntervalError

Plain: TypeAlias = NDArray[Any]

EXACT_INTEGERS = 2**53


class Ends:
    """All arrays between two float64 arrays of one shape, or between two arrays of booleans."""

    __slots__ = ("high", "low")

    low: Plain
    high: Plain

    def __init__(self, low: Plain, high: Plain) -> None:
        self.low = low
        self.high = high


def is_truth(value: Any) -> bool:
    """Whether the value is made of booleans, known or not."""
    if isinstance(value, Ends):
        return value.low.dtype == np.bool_
    return isinstance(value, (bool, np.bool_)) or (isinstance(value, np.ndarray) and value.dtype == np.bool_)


def truth_of(value: Any) -> Ends:
    """A boolean operand as ends: known booleans are both ends at once."""
    if isinstance(value, Ends):
        return value
    known = np.asarray(value, dtype=np.bool_)
    return Ends(known, known)


def ends_of(value: Any) -> Ends:
    """Any operand as ends of float64. A plain operand is a point: both ends are then the same object.

    Raises IntervalError for what is no real number.
    """
    if isinstance(value, Ends):
        if is_truth(value):
            return Ends(value.low.astype(np.float64), value.high.astype(np.float64))
        return value
    array = np.asarray(value)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return _numbers(array.astype(np.float64, copy=False))
    if array.dtype.kind in "biu":
        return _integers(array)
    if isinstance(value, int):
        return _around(np.asarray(float(value)))
    raise IntervalError(
        f"Intervals mix with float64 numbers and integers only; got {type(value).__name__} of {array.dtype}. {ADVICE}"
    )


def refuse_short_floats(operands: Sequence[Any]) -> None:
    """Raise for operands that NumPy may add up in less than float64.

    With a float64 interval among them NumPy computes in float64; with conditions alone it need not.
    """
    if any(isinstance(operand, Ends) and not is_truth(operand) for operand in operands):
        return
    for operand in operands:
        dtype = getattr(operand, "dtype", np.dtype(np.float64))
        if not isinstance(operand, Ends) and dtype not in (np.float64, np.int64, np.bool_):
            raise IntervalError(f"A condition on intervals mixes with float64 and int64 only; got {dtype}.")


def is_point(ends: Ends) -> bool:
    """Whether this is known to be one array, not a range of them."""
    return ends.low is ends.high


def magnitudes(a: Ends) -> tuple[Plain, Plain]:
    """The least and the greatest |member| of every entry; both exact."""
    return np.maximum(np.maximum(a.low, -a.high), 0.0), np.maximum(-a.low, a.high)


def _numbers(array: Plain) -> Ends:
    if np.isnan(array).any():
        raise IntervalError("Intervals do not mix with NaN, which lies in no interval; got a constant that holds one.")
    return Ends(array, array)


def _integers(array: Plain) -> Ends:
    rounded = array.astype(np.float64)
    if array.dtype.itemsize == 8 and (np.abs(rounded) >= EXACT_INTEGERS).any():
        return _around(rounded)
    return Ends(rounded, rounded)


def _around(rounded: Plain) -> Ends:
    """What an integer was before it was rounded to float64: between the neighbours."""
    return Ends(np.asarray(np.nextafter(rounded, -np.inf)), np.asarray(np.nextafter(rounded, np.inf)))
