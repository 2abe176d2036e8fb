"""The ranges of the numbers in a recipe."""

import reprlib

from anyformer.errors import TrainingError
from anyformer.whole_numbers import from_one


def at_least_one(name: str, value: int, most: int = 2**31) -> None:
    """Refuse anything but a whole number from 1 to a generous limit."""
    from_one(name, value, TrainingError)
    if value > most:
        raise TrainingError(f"{name} must be at most {most}; got {reprlib.repr(value)}.")


def a_share(name: str, value: float) -> None:
    """Refuse what is not in [0, 1)."""
    if not 0 <= value < 1:
        raise TrainingError(f"{name} must be a share, from 0 and below 1; got {value}.")


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise TrainingError unless the value is one of those allowed."""
    if value not in allowed:
        raise TrainingError(f"{name} must be one of {', '.join(allowed)}; got {value!r}.")
