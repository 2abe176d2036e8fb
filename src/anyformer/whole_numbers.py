"""Whole numbers that users give: tokens, widths, strides, seeds."""

import operator
import reprlib

from anyformer.errors import AnyformerError


def from_one(name: str, value: int, error: type[AnyformerError]) -> None:
    """Raise the given error unless the value is an int from 1; True and NumPy's numbers (not in JSON) are refused."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise error(f"{name} must be a whole number from 1; got {reprlib.repr(value)}.")


def whole_number(name: str, value: int, least: int, error: type[AnyformerError]) -> int:
    """`value` as an int, or the given error, which says the value's name.

    >>> whole_number("tokens", 3, least=2, error=AnyformerError)
    3
    """
    try:
        if isinstance(value, bool):
            raise TypeError("True is an int in Python, but it is not a number that a user means")
        number = operator.index(value)
    except TypeError:
        raise error(
            f"{name} must be a whole number; got {reprlib.repr(value)}. Give an int of at least {least}."
        ) from None
    if number >= 2**63:  # NumPy's integers end there
        raise error(f"{name} must be below 2**63; got {reprlib.repr(number)}. Give a smaller {name}.")
    if number < least:
        raise error(f"{name} must be at least {least}; got {number}. Give a larger {name}.")
    return number
