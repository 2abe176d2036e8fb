"""What numbers of a recipe may be."""

from anyformer.errors import TrainingError
from anyformer.whole_numbers import from_one


def at_least_one(name: str, value: int) -> None:
    """Refuse what is not a whole number from 1."""
    from_one(name, value, TrainingError)


def a_share(name: str, value: float) -> None:
    """Refuse what is not in [0, 1)."""
    if not 0 <= value < 1:
        raise TrainingError(f"{name} must be a share, from 0 and below 1; got {value}.")
