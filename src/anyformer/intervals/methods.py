"""The attributes and methods of arrays that NumPy users reach for, each standing for a NumPy function.

Functions see an array: `isinstance(x, np.ndarray)` holds, or `isinstance(s, np.float64)` for what NumPy gives as a
number. Attributes that arrays have and intervals lack are refused; attributes that arrays lack give Python's own
AttributeError. So a function that inspects its argument takes the same path as on arrays, or gets no enclosure.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from anyformer.intervals.callers import refused_call
from anyformer.intervals.ends import Held
from anyformer.intervals.errors import ADVICE, IntervalError, UnknownAttributeError

_NUMBERS = (
    "An interval is not one number: float(), int(), round() and the math module cannot take it."
    f" Use NumPy's functions, np.exp for math.exp. {ADVICE}"
)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: "ArrayMethods", *args: Any, **kwargs: Any) -> Any:
        return self._call(function, *args, **kwargs)

    method.__doc__ = f"np.{function.__name__}."
    return method


_PLAIN = (
    "An interval cannot become a plain array: np.array, np.asarray and assignment into a plain array would lose it."
    " Use np.stack or np.concatenate to join, np.zeros_like(x) to make an array to be filled."
)


class ArrayMethods(Held):
    """What an `IntervalArray` and a `Tristate` have in common with an array."""

    __slots__ = ()

    @property
    def __class__(self) -> Any:
        return self._ends.low.dtype.type if self._is_number else np.ndarray

    @__class__.setter
    def __class__(self, other: Any) -> NoReturn:
        raise IntervalError("An interval array cannot become something else.")

    @abstractmethod
    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`function(self, *args, **kwargs)`, enclosed."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self._ends.low.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._ends.low.ndim

    @property
    def size(self) -> int:
        """The number of entries."""
        return self._ends.low.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the members' entries."""
        return self._ends.low.dtype

    @property
    def T(self) -> Any:
        """All axes reversed."""
        return self._call(np.transpose)

    def __len__(self) -> int:
        return len(self._ends.low)

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    @abstractmethod
    def __getitem__(self, index: Any) -> Any:
        """The entries at a plain index."""

    def __getattr__(self, name: str) -> Any:
        # Reached only for what is not defined here.
        if name in Held.__slots__:
            raise AttributeError(name)
        array = self.__class__
        if name in ("__array_struct__", "__array_interface__"):
            raise UnknownAttributeError(refused_call() or _PLAIN)  # this is how np.asarray begins
        if hasattr(array, name):
            raise UnknownAttributeError(f"Intervals have no attribute .{name}. {ADVICE}")
        raise AttributeError(f"{array.__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(np.ndarray, name):
            raise IntervalError(f"The attribute .{name} of an interval array cannot be set. Use a function of NumPy.")
        raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """The same entries in another shape, given as one tuple or as numbers."""
        return self._call(np.reshape, shape[0] if len(shape) == 1 else shape, **kwargs)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order; reversed if none is given."""
        return self._call(np.transpose, axes[0] if len(axes) == 1 else axes or None)

    def flatten(self, order: str = "C") -> Any:
        """All entries in a row, copied."""
        return self._call(np.ravel, order).copy()

    def copy(self, order: str = "C") -> Any:
        """The same entries in memory of their own."""
        return self._call(np.copy, order)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise IntervalError("Interval arrays cannot be pickled. Save .low and .high instead.")

    swapaxes = _method(np.swapaxes)
    ravel = _method(np.ravel)
    squeeze = _method(np.squeeze)
    repeat = _method(np.repeat)
    take = _method(np.take)
    diagonal = _method(np.diagonal)
    any = _method(np.any)
    all = _method(np.all)
    sum = _method(np.sum)
    mean = _method(np.mean)
    dot = _method(np.dot)
    clip = _method(np.clip)
    max = _method(np.max)
    min = _method(np.min)
    prod = _method(np.prod)
    var = _method(np.var)
    std = _method(np.std)
    cumsum = _method(np.cumsum)
    cumprod = _method(np.cumprod)
    round = _method(np.round)
    argsort = _method(np.argsort)
    argmax = _method(np.argmax)
    argmin = _method(np.argmin)
    nonzero = _method(np.nonzero)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Refused: it would sort in place."""
        raise IntervalError("x.sort() in place is not supported on intervals. Write x = np.sort(x, axis=…).")

    def partition(self, *args: Any, **kwargs: Any) -> None:
        """Refused: it would change the array in place."""
        raise IntervalError("x.partition() in place is not supported on intervals. Write x = np.partition(x, kth).")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise IntervalError(refused_call() or _PLAIN)

    def _refuse_number(self, *args: Any) -> NoReturn:
        raise IntervalError(_NUMBERS)

    __float__ = __int__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refuse_number

    def __hash__(self) -> int:
        if not self._is_number:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        raise IntervalError(_NUMBERS)

    def __index__(self) -> NoReturn:
        raise IntervalError("An interval cannot be an index: which entry it names differs from member to member.")
