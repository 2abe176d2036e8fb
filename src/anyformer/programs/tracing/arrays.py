"""Tracing arrays as functions see them: arrays that remember what is done with them.

*Views.* In NumPy some results share memory with their argument. Here arrays have their own data, and a *family* is the
array and everything that may share memory with it. Writing to one of them also writes to what it was cut out of by
indices; all others of the family are then out of date, and using them is an error. So a function that relies on writing
through a view is refused, unless it does so by indices alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, NoReturn, TypeVar, final
from weakref import WeakSet

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from anyformer.errors import NotTraceable
from anyformer.programs.tracing.broadcasting import aligned
from anyformer.programs.tracing.calls import call_function, call_ufunc
from anyformer.programs.tracing.methods import TRUTH, ArrayMethods
from anyformer.programs.tracing.rules.conditions import AS_NUMBERS
from anyformer.programs.tracing.rules.indexing import item, with_item
from anyformer.programs.tracing.rules.supported import VIEWS
from anyformer.programs.tracing.runs import Run
from anyformer.programs.tracing.traced import Traced

_OUT_OF_DATE = (
    "An array was written to that may share memory with this one, a view of it or the array that it is a view of."
    " Write y = x[…].copy() before x or y is changed."
)


Followed = TypeVar("Followed", bound=Callable[..., Any])


def _recorded(method: Followed) -> Followed:
    """Record every error, NumPy's own too: the call might succeed on arrays, and the function may catch the error."""

    @wraps(method)
    def followed(self: "TracingArray", *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self._run.record(error)
            raise

    return followed  # type: ignore[return-value]


class Memory:
    """Whether what an array holds is still what NumPy's array would hold."""

    __slots__ = ("__weakref__", "is_outdated")

    def __init__(self) -> None:
        self.is_outdated = False


@final
class TracingArray(NDArrayOperatorsMixin, ArrayMethods):
    """Stands for the arrays that a function gets, for all inputs at once."""

    __slots__ = ("_data", "_family", "_is_read_only", "_memory", "_parent", "_run")

    _run: Run
    _data: Traced
    _memory: "Memory"
    _family: "WeakSet[Memory]"
    _parent: "tuple[TracingArray, Any] | None"
    _is_read_only: bool

    __hash__ = ArrayMethods.__hash__  # the mixin removes it

    def __init__(self, data: Traced, family: "WeakSet[Memory] | None" = None, parent: Any = None) -> None:
        own = {"_run": data.run, "_data": data, "_parent": parent, "_memory": Memory(), "_is_read_only": False}
        own["_family"] = WeakSet() if family is None else family
        for name, value in own.items():
            object.__setattr__(self, name, value)
        self._family.add(self._memory)

    @property
    def __class__(self) -> Any:
        return np.float64 if not self._data.axes else np.ndarray

    @__class__.setter
    def __class__(self, other: Any) -> NoReturn:
        self._fail(NotTraceable("A traced array cannot become something else."))

    def _fail(self, error: Exception) -> NoReturn:
        self._run.record(error)
        raise error

    def _opened(self) -> Traced:
        if self._memory.is_outdated:
            self._fail(NotTraceable(_OUT_OF_DATE))
        return self._data

    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.__array_function__(function, (), (self, *args), kwargs)

    @_recorded
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return _seen(call_ufunc(self._run, ufunc, method, _open(inputs), kwargs))

    @_recorded
    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        with np.errstate(all="ignore"):
            result = _seen(call_function(self._run, func, _open(args), _open(kwargs)))
        # The sum of products of one array may be only another order of its axes.
        if func in VIEWS or (func is np.einsum and len(args) == 2):
            families = [array._family for array in _held((args, kwargs))]
            for one in _held(result):
                _join(one, families[0])
                object.__setattr__(one, "_is_read_only", func in (np.broadcast_to, np.broadcast_arrays))
        return result

    @_recorded
    def __getitem__(self, index: Any) -> Any:
        for one in _held(index):
            what = "A condition" if one._data.is_condition else "A traced array"
            raise NotTraceable(
                f"{what} cannot be an index: which entries it names differs from input to input. Use np.where."
            )
        data = item(self._opened(), index)
        if _is_basic(index):
            return TracingArray(data, self._family, (self, index))
        return TracingArray(data)

    @_recorded
    def __setitem__(self, index: Any, value: Any) -> None:
        self._write(with_item(self._opened(), _open(index), _open(value)))

    def _write(self, data: Traced) -> None:
        """New data for this array and for those that it was cut out of; the others of the family are out of date."""
        if self._is_read_only:
            raise ValueError("assignment destination is read-only")
        if data.is_condition or self._data.is_condition:
            raise NotTraceable(AS_NUMBERS)
        for other in self._family:
            other.is_outdated = True
        array, parent = self, self._parent
        while True:
            object.__setattr__(array, "_data", data)
            array._memory.is_outdated = False
            if parent is None:
                return
            above, index = parent
            data = with_item(above._data, index, data)
            array, parent = above, above._parent

    @_recorded
    def _in_place(self, result: Any) -> Any:
        if not self._data.axes:
            return result
        data = self._opened()
        axes, (entries, _) = aligned(self._run, (_open(result), data))
        if axes != data.axes:
            raise ValueError(f"non-broadcastable output operand with shape {data.shape}")
        sizes = [axis.size for axis in axes if axis.kind.name == "SIZED"]
        self._write(Traced(self._run, axes, np.broadcast_to(entries, sizes)))
        return self

    def __iadd__(self, other: Any) -> Any:
        return self._in_place(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._in_place(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._in_place(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._in_place(self / other)

    def __ipow__(self, other: Any) -> Any:
        return self._in_place(self**other)

    def __imatmul__(self, other: Any) -> Any:
        return self._in_place(self @ other)

    def fill(self, value: Any) -> None:
        """Set all entries."""
        self[...] = value

    @_recorded
    def astype(self, dtype: Any, *args: Any, copy: bool = True, **kwargs: Any) -> Any:
        """A copy of float64; a condition stays one, and counts as 0 or 1 in products."""
        data = self._opened()
        if np.dtype(dtype) not in (np.dtype(np.float64), *([np.dtype(np.bool_)] if data.is_condition else [])):
            raise NotTraceable(f"Traced arrays are of float64 and stay so; got astype({np.dtype(dtype)}).")
        if data.is_condition:
            return TracingArray(replace(data, is_converted=np.dtype(dtype) == np.float64))
        return TracingArray(data) if copy else self

    @_recorded
    def __bool__(self) -> bool:
        data = self._opened()
        forms = [entry for entry in data.entries.flat if hasattr(entry, "is_fixed")]
        if data.is_condition and len(forms) == data.entries.size == 1 and forms[0].is_fixed:
            return bool(forms[0].constant.value > 0)
        raise NotTraceable(TRUTH)

    def __repr__(self) -> str:
        return f"TracingArray(shape={self._data.shape})"


def _is_basic(index: Any) -> bool:
    given = index if isinstance(index, tuple) else (index,)
    return all(one is None or one is Ellipsis or isinstance(one, slice | int | np.integer) for one in given)


def _join(array: TracingArray, family: "WeakSet[Memory]") -> None:
    object.__setattr__(array, "_family", family)
    family.add(array._memory)


def _open(value: Any) -> Any:
    """The argument with the data of every tracing array in it."""
    if isinstance(value, TracingArray) or type(value) is TracingArray:
        return value._opened()
    if isinstance(value, list | tuple):
        return type(value)(_open(part) for part in value)
    if isinstance(value, dict):
        return {key: _open(part) for key, part in value.items()}
    return value


def _seen(result: Any) -> Any:
    """What the rules return, as functions see it."""
    if isinstance(result, Traced):
        return TracingArray(result)
    if isinstance(result, list) or (isinstance(result, tuple) and any(isinstance(one, Traced) for one in result)):
        return type(result)(_seen(part) for part in result)
    return result


def _held(value: Any) -> Iterator[TracingArray]:
    """Every tracing array in a value."""
    if type(value) is TracingArray:
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _held(part)
    elif isinstance(value, dict):
        yield from _held(list(value.values()))
