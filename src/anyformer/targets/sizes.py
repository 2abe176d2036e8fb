"""Whole numbers that describe a target: tokens, width, degrees and windows."""

import operator

from anyformer.errors import TargetError


def whole_number(name: str, value: int, least: int) -> int:
    """`value` as an int, or a TargetError that names it.

    >>> whole_number("tokens", 3, least=2)
    3
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TargetError(f"{name} must be a whole number; got {value!r}. Give an int of at least {least}.") from None
    if number < least:
        raise TargetError(f"{name} must be at least {least}; got {number}. Give a larger {name}.")
    return number


def check_sizes(tokens: int, width: int) -> None:
    """Raise TargetError unless there are at least two tokens of at least one coordinate."""
    whole_number("tokens", tokens, least=2)
    whole_number("width", width, least=1)
