"""Interval arrays and conditions on them, as NumPy's functions and operators see them."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Self, TypeVar, final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike

from anyformer.errors import NoSlopes
from anyformer.intervals.calls import call_function
from anyformer.intervals.conditions import decided
from anyformer.intervals.ends import Ends, Held, Plain, ends_of, is_truth, opened
from anyformer.intervals.errors import IntervalError, refuse_options, refuse_order
from anyformer.intervals.memory import Memory
from anyformer.intervals.methods import ArrayMethods
from anyformer.intervals.runs import current, record
from anyformer.intervals.slopes.calls import form_of_function, form_of_ufunc, inputs_followed
from anyformer.intervals.slopes.forms import Form, form_of
from anyformer.intervals.slopes.movement import indexed, written
from anyformer.intervals.supported import AMBIGUOUS
from anyformer.intervals.ufuncs import call_ufunc

_UNDECIDED = (
    "The condition is undecided on this box: it holds for some of its members only."
    " Write it with np.where(condition, this, that), np.maximum or np.minimum."
)
_IMMUTABLE = (
    "Conditions on intervals cannot be changed in place. Write c = c & d instead of c &= d, np.where to set some."
)

Followed = TypeVar("Followed", bound=Callable[..., Any])


def _recorded(method: Followed) -> Followed:
    """Record every error, NumPy's own too: the call might succeed on arrays, and the function may catch the error."""

    @wraps(method)
    def followed(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except Exception as error:
            record(error)
            raise

    return followed  # type: ignore[return-value]


class _Dispatched(NDArrayOperatorsMixin, ArrayMethods):
    """NumPy calls these two methods to find out what its functions do to the object."""

    __slots__ = ()
    __hash__ = ArrayMethods.__hash__  # the mixin removes it

    @_recorded
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        _refuse_errstate()
        # Ends may overflow or be infinite; the rules handle that.
        with np.errstate(all="ignore"):
            result = call_ufunc(ufunc, method, inputs, dict(kwargs))
        if isinstance(result, tuple):
            return tuple(map(seen, result))
        return _carrying(seen(result), lambda: form_of_ufunc(ufunc, method, inputs, kwargs, result))

    @_recorded
    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        _refuse_errstate()
        with np.errstate(all="ignore"):
            result = call_function(func, args, dict(kwargs))
        given = list(_held((args, kwargs)))
        shown = seen(result, given[0]._memory.perhaps_shared()) if func in AMBIGUOUS else _with_memory_of(result, given)
        return _carrying(shown, lambda: form_of_function(func, args, kwargs, result))

    def _hide_from_functions(self, name: str) -> None:
        if self._run is not None:
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")

    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.__array_function__(function, (), (self, *args), kwargs)

    @_recorded
    def __getitem__(self, index: Any) -> Any:
        index = _plain_index(index)
        ends = opened(self)
        if self._is_number:
            return seen(Ends(ends.low[()][index], ends.high[()][index]))
        picked = _with_memory_of(Ends(ends.low[index], ends.high[index]), [self])
        return _carrying(picked, lambda: indexed(_form(self), index))

    @property
    def low(self) -> Plain:
        """The least members."""
        self._hide_from_functions("low")
        return self._ends.low

    @property
    def high(self) -> Plain:
        """The greatest members."""
        self._hide_from_functions("high")
        return self._ends.high


@final
class IntervalArray(_Dispatched):
    """All real arrays between `low` and `high`, of one shape, with low ≤ high; NumPy's functions enclose theirs on it.

    Views are views and numbers are numbers, as in NumPy; where this depends on how an array lies in memory, relying on
    it is an error (`memory`). Functions that `enclose` runs see an array without `low`, `high` and `why_unknown`.

    >>> x = IntervalArray([0.0, 1.0], [0.5, 2.0])
    >>> np.maximum(x, 1.0)
    IntervalArray(low=[1.0, 1.0], high=[1.0, 2.0])
    """

    __slots__ = ()

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        first, second = (np.array(end, dtype=np.float64) for end in (low, high))
        if first.shape != second.shape:
            raise IntervalError(f"The ends of an interval array have one shape; got {first.shape} and {second.shape}.")
        if not (first <= second).all():
            raise IntervalError("Every low end must be at most its high end, and neither NaN; got one that is not.")
        self._hold(Ends(first, second), Memory(), is_number=False)

    @property
    def why_unknown(self) -> str | None:
        """The first box about which nothing is known, and the step without a value there; None if there is none."""
        self._hide_from_functions("why_unknown")
        return self._why_unknown

    def __repr__(self) -> str:
        return f"IntervalArray(low={self._ends.low.tolist()}, high={self._ends.high.tolist()})"

    @_recorded
    def __setitem__(self, index: Any, value: Any) -> None:
        if self._is_number:
            raise TypeError("'numpy.float64' object does not support item assignment")
        index, mine, ends = _plain_index(index), opened(self), ends_of(value)
        form = _form_if_known(lambda: written(_form(self), _form(value), index))
        mine.low[index], mine.high[index] = ends.low, ends.high
        self._memory.write()
        self._carry(form)

    def __bool__(self) -> bool:
        raise IntervalError(f"An interval is neither true nor false. {_UNDECIDED}")

    def __pow__(self, other: Any) -> Any:
        # NumPy computes array ** 2 as a square, correctly rounded; so the tighter enclosure holds. Not so for numbers.
        if type(other) in (int, float) and other == 2 and not self._is_number:
            return np.square(self)
        return np.power(self, other)

    @_recorded
    def _written(self, result: Any) -> Any:
        """Write the outcome of an in-place operator where all views see it; a number is replaced, both as in NumPy."""
        if self._is_number:
            return result
        self[...] = result
        return self

    def __iadd__(self, other: Any) -> Any:
        return self._written(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._written(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._written(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._written(self / other)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._written(self // other)

    def __imod__(self, other: Any) -> Any:
        return self._written(self % other)

    def __ipow__(self, other: Any) -> Any:
        return self._written(self**other)

    def __imatmul__(self, other: Any) -> Any:
        return self._written(self @ other)

    def fill(self, value: Any) -> None:
        """Set all entries."""
        self[...] = value

    @_recorded
    def astype(
        self, dtype: Any, order: str = "C", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Self:
        """For float64, a copy, or the array itself with copy=False; other types would round the members."""
        refuse_order("astype", order)
        if np.dtype(dtype) != np.float64:
            raise IntervalError(f"Intervals are of float64 and stay so; got astype({np.dtype(dtype)}).")
        if self._is_number:
            return self
        copied: Self = self.copy() if copy else self
        return copied


@final
class Tristate(_Dispatched):
    """A condition: `low` where it holds for all members, `high` where for some. It cannot be changed.

    It takes part in logic, in np.where and, beside float64, as 0.0 or 1.0 in arithmetic. An `if` or an index can take
    it where it is decided, low = high.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Tristate(low={self._ends.low.tolist()}, high={self._ends.high.tolist()})"

    @_recorded
    def __bool__(self) -> bool:
        ends = opened(self)
        if not decided(ends):
            raise IntervalError(_UNDECIDED)
        return bool(ends.low)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise IntervalError(_IMMUTABLE)

    def _changed(self, operation: Callable[[Any, Any], Any], other: Any) -> Any:
        if self._is_number:
            return operation(self, other)
        raise IntervalError(_IMMUTABLE)

    def __iand__(self, other: Any) -> Any:
        return self._changed(np.bitwise_and, other)

    def __ior__(self, other: Any) -> Any:
        return self._changed(np.bitwise_or, other)

    def __ixor__(self, other: Any) -> Any:
        return self._changed(np.bitwise_xor, other)

    @_recorded
    def astype(self, dtype: Any, copy: bool = True, **how: Any) -> Any:
        """As numbers 0 and 1 if float64 is asked for, itself for bool."""
        refuse_options("astype", how)
        if np.dtype(dtype) == np.float64:
            numbers = ends_of(self)
            shown = seen(Ends(numbers.low[()], numbers.high[()]) if self._is_number else numbers)
            return _carrying(shown, lambda: _form(self))
        if np.dtype(dtype) == np.bool_:
            return self
        raise IntervalError(f"A condition on intervals becomes float64 only; got astype({np.dtype(dtype)}).")


def _carrying(shown: Any, find: Callable[[], Any]) -> Any:
    """The arrays with their mean value forms, where a run follows slopes and they are known."""
    form = _form_if_known(find)
    pairs = zip(shown, form, strict=True) if isinstance(form, list) else [(shown, form)]
    for array, its_form in pairs:
        if type(array) is IntervalArray:
            array._carry(its_form)
    return shown


def _form(array: Any) -> Form:
    return form_of(array, inputs_followed())


def _form_if_known(find: Callable[[], Any]) -> Any:
    if not inputs_followed():
        return None
    try:
        return find()
    except NoSlopes:
        return None


def seen(result: Any, memory: Memory | None = None, why_unknown: str | None = None) -> Any:
    """What the rules return, as the objects that functions see: ends that are no arrays as a number."""
    if not isinstance(result, Ends):
        return result
    kind = Tristate if is_truth(result) else IntervalArray
    array = kind.__new__(kind)
    is_number = not isinstance(result.low, np.ndarray)
    low = np.asarray(result.low)
    # The ends have memory of their own: writing to one must not change the other.
    array._hold(Ends(low, _apart(low, result.high)), memory or Memory(), is_number, why_unknown)
    return array


def _with_memory_of(result: Any, given: list[Held]) -> Any:
    """The result, a view of what it was made from if its ends are views of those ends."""
    if isinstance(result, (list, tuple)):
        return type(result)([_with_memory_of(part, given) for part in result])
    if not isinstance(result, Ends):
        return result
    shared = {array._memory for array in given if np.may_share_memory(result.low, array._ends.low)}
    memory = next(iter(shared), None)
    # These arrays may share memory, here as in NumPy, so it is unknown which of them this is a view of.
    return seen(result, memory.perhaps_shared() if memory and len(shared) > 1 else memory)


def _held(value: Any) -> Iterator[Held]:
    """Every interval array among the arguments."""
    if isinstance(value, Held):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _held(part)
    elif isinstance(value, dict):
        yield from _held(list(value.values()))


def _refuse_errstate() -> None:
    """Raise if NumPy is set to raise or warn on overflow: it would do so for members, but not for the ends."""
    if current() is not None and any(mode != "ignore" for mode in np.geterr().values()):
        raise IntervalError(f"np.errstate must stay at 'ignore' in a function on intervals; got {np.geterr()}.")


def _apart(low: Plain, high: Plain) -> Plain:
    return np.array(high) if np.may_share_memory(low, high) else np.asarray(high)


def _plain_index(index: Any) -> Any:
    """The index with decided conditions as plain ones."""
    if isinstance(index, tuple):
        return tuple(_plain_index(part) for part in index)
    if isinstance(index, IntervalArray):
        raise IntervalError("An interval cannot be an index: which entry it names differs from member to member.")
    if not isinstance(index, Tristate):
        return index
    ends = opened(index)
    if not decided(ends):
        raise IntervalError(f"An undecided condition cannot be an index. {_UNDECIDED}")
    return ends.low
