"""The attributes and methods that arrays have, on tracing arrays: each stands for a function of NumPy.

Functions see an array: `isinstance(x, np.ndarray)` holds. What a traced array cannot do is refused; attributes that
arrays lack give Python's own AttributeError.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from anyformer.errors import NotTraceable
from anyformer.intervals.callers import library_function
from anyformer.programs.tracing.axes import Kind
from anyformer.programs.tracing.rules.refusals import ADVICE
from anyformer.programs.tracing.traced import Traced

NUMBERS = (
    "A traced array stands for all inputs at once and is not one number: float(), int(), .item(), .tolist() and math"
    " functions cannot take it. Use NumPy's functions, np.exp for math.exp."
)


PLAIN = (
    "A traced array cannot become a plain one: np.array, np.asarray and assignment into a plain array would lose it."
    " Use np.stack or np.concatenate to join, np.zeros_like(x) to make an array to be filled."
)


TRUTH = (
    "A traced array is neither true nor false: it stands for all inputs at once. Write `if` on values as"
    " np.where(condition, this, that), np.maximum or np.minimum."
)


class _UnknownAttribute(NotTraceable, AttributeError):
    """An attribute of arrays that traced ones lack; an AttributeError too, as `hasattr` and NumPy expect."""


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: "ArrayMethods", *args: Any, **kwargs: Any) -> Any:
        return self._call(function, *args, **kwargs)

    method.__doc__ = f"np.{function.__name__}."
    return method


def refusal_of_plain() -> NotTraceable:
    """The error for what would make a plain array of a traced one."""
    name = library_function()
    if name is None or name in ("np.array", "np.asarray"):
        return NotTraceable(PLAIN)
    return NotTraceable(
        f"{name} cannot be traced: it makes plain arrays of its arguments. Write its formula with NumPy's functions."
    )


class ArrayMethods:
    """What a tracing array has in common with an array."""

    __slots__ = ()

    @abstractmethod
    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`function(self, *args, **kwargs)`, traced."""

    @abstractmethod
    def _opened(self) -> Traced:
        """The data. Raises if it is no longer known."""

    @abstractmethod
    def _fail(self, error: Exception) -> NoReturn:
        """Record an error and raise it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes; that of the batch is made up."""
        return self._opened().shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._opened().axes)

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64, or bool for a condition."""
        data = self._opened()
        return np.dtype(np.bool_ if data.is_condition and not data.is_converted else np.float64)

    @property
    def T(self) -> Any:
        """All axes reversed."""
        return self._call(np.transpose)

    @property
    def mT(self) -> Any:
        """The last two axes swapped."""
        return self._call(np.swapaxes, -1, -2)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        axes = self._opened().axes
        if not axes:
            raise TypeError("iteration over a 0-d array")
        if axes[0].kind is Kind.BATCH:
            self._fail(
                NotTraceable(
                    "A loop over the batch cannot be traced. Write the function for a whole (batch, tokens, width)"
                    " array, or for one (tokens, width) array with vectorised=False."
                )
            )
        return (self[at] for at in range(axes[0].size))

    @abstractmethod
    def __getitem__(self, index: Any) -> Any:
        """The entries at an index."""

    def __getattr__(self, name: str) -> Any:
        if name in ("__array_struct__", "__array_interface__"):
            self._fail(_UnknownAttribute(str(refusal_of_plain())))
        if name in ("tolist", "item", "tobytes", "tofile", "data"):
            self._fail(_UnknownAttribute(NUMBERS))
        if hasattr(np.ndarray, name):
            self._fail(_UnknownAttribute(f"A traced array has no attribute .{name}. {ADVICE}"))
        raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(np.ndarray, name):
            self._fail(NotTraceable(f"The attribute .{name} of a traced array cannot be set. Use a function of NumPy."))
        raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """The same entries in another shape, given as one tuple or as numbers."""
        return self._call(np.reshape, shape[0] if len(shape) == 1 else shape, **kwargs)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order; reversed if none is given."""
        return self._call(np.transpose, axes[0] if len(axes) == 1 else axes or None)

    def copy(self, order: str = "C") -> Any:
        """The same entries in memory of their own."""
        return self._call(np.copy)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self._fail(NotTraceable("A traced array cannot be pickled."))

    swapaxes = _method(np.swapaxes)
    squeeze = _method(np.squeeze)
    repeat = _method(np.repeat)
    take = _method(np.take)
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
    any = _method(np.any)
    all = _method(np.all)
    ravel = _method(np.ravel)
    flatten = _method(np.ravel)
    diagonal = _method(np.diagonal)
    argsort = _method(np.argsort)
    argmax = _method(np.argmax)
    argmin = _method(np.argmin)
    argpartition = _method(np.argpartition)
    nonzero = _method(np.nonzero)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Refused: it would sort in place."""
        self._fail(NotTraceable("x.sort() in place cannot be traced. Write x = np.sort(x, axis=1)."))

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._fail(refusal_of_plain())

    def _refuse_number(self, *args: Any) -> NoReturn:
        self._fail(NotTraceable(NUMBERS))

    __float__ = __int__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refuse_number

    def __contains__(self, value: Any) -> bool:
        self._fail(NotTraceable(TRUTH))

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __index__(self) -> NoReturn:
        self._fail(NotTraceable("A traced array cannot be an index: which entry it names differs from input to input."))
