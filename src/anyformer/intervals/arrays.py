"""Interval arrays and undecided conditions, as NumPy's functions and operators see them."""

from collections.abc import Callable
from typing import Any, Self, final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike

from anyformer.intervals.conditions import decided
from anyformer.intervals.ends import Ends, Plain, ends_of, is_truth, truth_of
from anyformer.intervals.errors import IntervalError
from anyformer.intervals.functions import call_function
from anyformer.intervals.methods import ArrayMethods
from anyformer.intervals.ufuncs import call_ufunc

_UNDECIDED = (
    "The condition is undecided on this box: it holds for some of its members only."
    " Write it with np.where(condition, this, that), np.maximum or np.minimum."
)


class _Dispatched(NDArrayOperatorsMixin, ArrayMethods):
    """NumPy asks these two methods what its functions do to the object."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        # Ends may overflow or be infinite; the rules know what to make of it.
        with np.errstate(all="ignore"):
            return wrapped(call_ufunc(ufunc, method, inputs, kwargs))

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        with np.errstate(all="ignore"):
            return wrapped(call_function(func, args, kwargs))

    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.__array_function__(function, (), (self, *args), kwargs)

    def __getitem__(self, index: Any) -> Any:
        _refuse_as_index(index)
        return wrapped(Ends(self.low[index], self.high[index]))

    def _written(self, result: Any) -> Any:
        """Write the outcome of an in-place operator where all views see it, as NumPy does.

        A 0-dimensional result is what NumPy gives as an immutable number: it is replaced.
        """
        if self.ndim == 0:
            return result
        ends = truth_of(result) if is_truth(self) else ends_of(result)
        self.low[...], self.high[...] = ends.low, ends.high
        return self


@final
class IntervalArray(_Dispatched):
    """All real arrays between `low` and `high`, of one shape, with low ≤ high; NumPy's functions enclose theirs on it.

    Slices are views, as in NumPy: what is written to one is seen by the whole. (Do not rely on this for a reshape,
    which copies where it must.)

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
        super().__init__(first, second)

    def __repr__(self) -> str:
        return f"IntervalArray(low={self.low.tolist()}, high={self.high.tolist()})"

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_as_index(index)
        ends = ends_of(value)
        self.low[index], self.high[index] = ends.low, ends.high

    def __bool__(self) -> bool:
        raise IntervalError(f"An interval is neither true nor false. {_UNDECIDED}")

    def __pow__(self, other: Any) -> Any:
        # NumPy computes array ** 2 as a square, correctly rounded; so the tighter enclosure holds.
        if isinstance(other, (int, float)) and other == 2:
            return np.square(self)
        return np.power(self, other)

    def __iadd__(self, other: Any) -> Any:
        return self._written(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._written(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._written(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._written(self / other)

    def __ipow__(self, other: Any) -> Any:
        return self._written(self**other)

    def __imatmul__(self, other: Any) -> Any:
        return self._written(self @ other)

    def astype(self, dtype: Any, **how: Any) -> Self:
        """A copy, for float64; other types would round the members."""
        if np.dtype(dtype) != np.float64:
            raise IntervalError(f"Intervals are of float64 and stay so; got astype({np.dtype(dtype)}).")
        copied: Self = self.copy()
        return copied

    def dot(self, other: Any) -> Any:
        """np.dot."""
        return self._call(np.dot, other)

    def clip(self, *args: Any, **kwargs: Any) -> Any:
        """np.clip."""
        return self._call(np.clip, *args, **kwargs)

    def max(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """np.max."""
        return self._call(np.max, axis, *args, **kwargs)

    def min(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """np.min."""
        return self._call(np.min, axis, *args, **kwargs)

    def prod(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """np.prod."""
        return self._call(np.prod, axis, *args, **kwargs)

    def var(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """np.var."""
        return self._call(np.var, axis, *args, **kwargs)

    def std(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """np.std."""
        return self._call(np.std, axis, *args, **kwargs)

    def cumsum(self, axis: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """np.cumsum."""
        return self._call(np.cumsum, axis, *args, **kwargs)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Refused: it would sort in place."""
        raise IntervalError("x.sort() in place is not supported on intervals. Write x = np.sort(x, axis=…).")

    def argsort(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, like np.argsort."""
        return self._call(np.argsort)

    def argmax(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, like np.argmax."""
        return self._call(np.argmax)

    def argmin(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, like np.argmin."""
        return self._call(np.argmin)


@final
class Tristate(_Dispatched):
    """The outcome of a comparison that is not decided: `low` where it holds for all members, `high` where for some.

    It takes part in logic, in np.where and, as 0 or 1, in arithmetic; an `if` or an index cannot take it.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Tristate(low={self.low.tolist()}, high={self.high.tolist()})"

    def __bool__(self) -> bool:
        raise IntervalError(_UNDECIDED)

    def __iand__(self, other: Any) -> Any:
        return self._written(self & other)

    def __ior__(self, other: Any) -> Any:
        return self._written(self | other)

    def __ixor__(self, other: Any) -> Any:
        return self._written(self ^ other)

    def astype(self, dtype: Any, **how: Any) -> Any:
        """As numbers 0 and 1 if float64 is asked for, a copy for bool."""
        if np.dtype(dtype) == np.float64:
            return wrapped(ends_of(self))
        if np.dtype(dtype) == np.bool_:
            return self.copy()
        raise IntervalError(f"A condition on intervals becomes float64 only; got astype({np.dtype(dtype)}).")


def wrapped(result: Any) -> Any:
    """What the rules return, as the objects that users see; a decided condition as a plain array."""
    if isinstance(result, list):
        return [wrapped(part) for part in result]
    if not isinstance(result, Ends):
        return result
    if is_truth(result) and decided(result):
        return np.asarray(result.low)
    kind = Tristate if is_truth(result) else IntervalArray
    array = kind.__new__(kind)
    array.low = np.asarray(result.low)
    # The ends have memory of their own: writing to one must not change the other.
    array.high = _apart(result.low, result.high)
    return array


def _apart(low: Plain, high: Plain) -> Plain:
    return np.array(high) if np.may_share_memory(low, high) else np.asarray(high)


def _refuse_as_index(index: Any) -> None:
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, Tristate) for part in parts):
        raise IntervalError(f"An undecided condition cannot be an index. {_UNDECIDED}")
    if any(isinstance(part, IntervalArray) for part in parts):
        raise IntervalError("An interval cannot be an index: which entry it names differs from member to member.")
