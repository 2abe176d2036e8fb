"""The attributes and methods of arrays that NumPy users reach for, each standing for a NumPy function."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anyformer.intervals.ends import Ends
from anyformer.intervals.errors import ADVICE, IntervalError, UnknownAttributeError


class ArrayMethods(Ends):
    """What an `IntervalArray` and a `Tristate` have in common with an array."""

    __slots__ = ()

    @abstractmethod
    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`function(self, *args, **kwargs)`, enclosed."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.low.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.low.ndim

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.low.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the members' entries."""
        return self.low.dtype

    @property
    def T(self) -> Any:
        """All axes reversed."""
        return self._call(np.transpose)

    def __len__(self) -> int:
        return len(self.low)

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))

    @abstractmethod
    def __getitem__(self, index: Any) -> Any:
        """The entries at a plain index."""

    def __getattr__(self, name: str) -> Any:
        # Reached only for what is not defined. Names with underscores are protocols that NumPy and Python ask for.
        if name.startswith("_") or name in Ends.__slots__:
            raise AttributeError(name)
        raise UnknownAttributeError(f"Intervals have no attribute .{name}. {ADVICE}")

    def reshape(self, *shape: Any) -> Any:
        """The same entries in another shape, given as one tuple or as numbers."""
        return self._call(np.reshape, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order; reversed if none is given."""
        return self._call(np.transpose, axes[0] if len(axes) == 1 else axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Two axes exchanged."""
        return self._call(np.swapaxes, axis1, axis2)

    def ravel(self) -> Any:
        """All entries in a row."""
        return self._call(np.ravel)

    def flatten(self) -> Any:
        """All entries in a row, copied."""
        return self._call(np.ravel).copy()

    def squeeze(self, axis: Any = None) -> Any:
        """Without axes of size 1."""
        return self._call(np.squeeze, axis)

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        """Every entry so many times."""
        return self._call(np.repeat, repeats, axis)

    def take(self, indices: Any, axis: int | None = None) -> Any:
        """The entries at plain indices."""
        return self._call(np.take, indices, axis)

    def copy(self) -> Any:
        """The same entries in memory of their own."""
        return self._call(np.copy)

    def sum(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """np.sum."""
        return self._call(np.sum, axis, *args, **kwargs)

    def mean(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """np.mean."""
        return self._call(np.mean, axis, *args, **kwargs)

    def any(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """np.any."""
        return self._call(np.any, axis, *args, **kwargs)

    def all(self, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """np.all."""
        return self._call(np.all, axis, *args, **kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise IntervalError(
            "An interval cannot become a plain array: np.array, np.asarray and assignment into a plain array would lose"
            " it. Use np.stack or np.concatenate to join, np.zeros_like(x) to make an array to be filled."
        )

    def __float__(self) -> float:
        raise IntervalError(
            "An interval is not one number: float(), int() and the math module cannot take it."
            f" Use NumPy's functions, np.exp for math.exp. {ADVICE}"
        )

    def __int__(self) -> int:
        return int(self.__float__())

    def __index__(self) -> int:
        raise IntervalError("An interval cannot be an index: which entry it names differs from member to member.")
