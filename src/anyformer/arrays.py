"""Arrays: their types, how one is shown in a message, and the sequences that users give, checked."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyformer.errors import AnyformerError, NetworkError

Array: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]


def shown(array: Array) -> str:
    """The array as nested lists of the shortest floats that read back to the same bits.

    >>> shown(np.array([[0.1], [0.25]]))
    '[[0.1], [0.25]]'
    """
    return repr(array.tolist())


def as_sequences(
    x: ArrayLike, tokens: int, width: int, error: type[AnyformerError] = NetworkError, what: str = "sequences"
) -> Array:
    """`x` as float64 of shape (batch, tokens, width), or the given error, which says what is wrong with `what`.

    >>> as_sequences([[[1], [2]]], tokens=2, width=1).shape
    (1, 2, 1)

    The numbers are copied only where they have another type.
    """
    array = _real_numbers(x, error, what)
    if array.ndim != 3 or array.shape[1:] != (tokens, width):
        raise error(
            f"{what} must have shape (batch, tokens, width) = (batch, {tokens}, {width}); got {array.shape}."
            " Reshape the array."
        )
    finite = np.isfinite(array).all(axis=(1, 2))
    if not finite.all():
        where = int(finite.argmin())
        raise error(f"{what} must be finite; batch element {where} is {shown(array[where])}. Give finite numbers.")
    return array


def _real_numbers(x: ArrayLike, error: type[AnyformerError], what: str) -> Array:
    try:
        given = np.asarray(x)
        if given.dtype.kind not in "biufO":  # an object array may still hold numbers, such as Fractions
            raise TypeError(f"entries of type {given.dtype}")
        return given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as fault:
        raise error(f"{what} must be real numbers in an array; got {fault}. Give an array of floats.") from fault
