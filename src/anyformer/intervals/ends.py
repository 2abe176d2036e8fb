"""The data of an interval array: two plain arrays, entry by entry the least and the greatest member.

All arithmetic of this folder works on `Ends`. Functions see `Held`: ends that look like an array.
Ends of booleans say what holds for every member (low) and what holds for some (high).
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anyformer.intervals.errors import ADVICE, IntervalError
from anyformer.intervals.memory import UNCERTAIN, Memory
from anyformer.intervals.runs import Run, current

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


class Held:
    """Ends that look like an array, or like a NumPy number if `_is_number`; `opened` gives access to them."""

    __slots__ = ("_ends", "_form", "_form_version", "_is_number", "_memory", "_run", "_why_unknown")

    _ends: Ends
    _form: Any
    _form_version: int
    _is_number: bool
    _memory: Memory
    _run: Run | None
    _why_unknown: str | None

    def _hold(self, ends: Ends, memory: Memory, is_number: bool, why_unknown: str | None = None) -> None:
        # Functions may not set attributes of an array, so these are set without its own __setattr__.
        _ENDS(self, ends)
        _MEMORY(self, memory)
        _IS_NUMBER(self, is_number)
        _RUN(self, current())
        _WHY_UNKNOWN(self, why_unknown)
        _FORM(self, None)

    def _carry(self, form: Any) -> None:
        """Give it a mean value form (`slopes`), which holds until the memory is written to; None for no form."""
        _FORM(self, form)
        _FORM_VERSION(self, self._memory.version)


_ENDS, _FORM, _FORM_VERSION, _IS_NUMBER, _MEMORY, _RUN, _WHY_UNKNOWN = (
    Held.__dict__[name].__set__ for name in Held.__slots__
)


def opened(held: Held) -> Ends:
    """The ends of an array that a function uses.

    Raises IntervalError if it is unknown whether the memory was written to, and for an array that is used outside the
    run it was made in: errors would not be recorded there.
    """
    if held._memory.is_uncertain:
        raise IntervalError(UNCERTAIN)
    if held._run is not current() and held._run is not None:
        error = IntervalError(
            "An interval array must be used in the call and the thread that it was made in; got one that was kept or"
            " handed to another thread. Let the function depend on its argument alone, and run in one thread."
        )
        held._run.faults.append(error)
        raise error
    return held._ends


def is_truth(value: Any) -> bool:
    """Whether the value is made of booleans, known or not."""
    if isinstance(value, Held):
        value = value._ends
    if isinstance(value, Ends):
        return value.low.dtype == np.bool_
    return isinstance(value, (bool, np.bool_)) or (isinstance(value, np.ndarray) and value.dtype == np.bool_)


def is_condition(value: Any) -> bool:
    """Whether the value is the outcome of a comparison of intervals."""
    return isinstance(value, (Held, Ends)) and is_truth(value)


def truth_of(value: Any) -> Ends:
    """A boolean operand as ends: known booleans are both ends at once."""
    if isinstance(value, Held):
        return opened(value)
    if isinstance(value, Ends):
        return value
    _refuse_other_arrays(value)
    known = np.asarray(value, dtype=np.bool_)
    return Ends(known, known)


def ends_of(value: Any) -> Ends:
    """Any operand as ends of float64. A plain operand is a point: both ends are then the same object.

    Raises IntervalError for what is no real number.
    """
    if isinstance(value, Held):
        value = opened(value)
    if isinstance(value, Ends):
        if is_truth(value):
            return Ends(value.low.astype(np.float64), value.high.astype(np.float64))
        return value
    _refuse_other_arrays(value)
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


def _refuse_other_arrays(value: Any) -> None:
    """Refuse masked arrays, matrices and arrays of other libraries: they define operations differently."""
    if type(value) is not np.ndarray and hasattr(value, "__array_ufunc__") and not isinstance(value, np.generic):
        raise IntervalError(f"Intervals mix with plain arrays only; got {type(value).__name__}. Use np.asarray on it.")


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
