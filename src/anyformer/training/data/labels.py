"""What labels are: classes, numbers to come close to, or none."""

import math
import re
from collections.abc import Collection, Sequence
from typing import Final

from anyformer.errors import TrainingError

Placed = tuple[str, str]
"""The place of a row, for errors, and its label."""
NO_LABEL: Final = ("-", "")
"""SNLI's mark of a pair without a majority, and nothing."""
MINUS_ONE: Final = "-1"
"""Many data sets' mark of a hidden label, but also a class and a number of others."""
LARGEST: Final = 1e15
"""The largest number to learn: the squared errors of ten million such labels can still be added in single precision."""
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII)
_FEW: Final = 20
"""So many classes need not repeat."""


def are_numbers(labels: Sequence[Placed]) -> bool:
    """Whether labels are numbers to come close to, and not classes: all are numbers, and not all of them are whole.

    >>> are_numbers([("row 1", "0"), ("row 2", ".5")]), are_numbers([("row 1", "0"), ("row 2", "1")])
    (True, False)

    Raises:
        TrainingError: if most are numbers, some of these are not whole, and others are no numbers.
    """
    numbers = [_finite(label) for _, label in labels]
    if all(number is None or number.is_integer() for number in numbers):
        return False
    wrong = [placed for placed, number in zip(labels, numbers, strict=True) if number is None]
    if 2 * len(wrong) >= len(labels):
        return False
    if wrong:
        where, label = wrong[0]
        raise TrainingError(
            f"{where}: a label must be a finite number where most are numbers with a fraction; got {label[:100]!r}."
            " Correct the row, leave such rows out by ?unlabelled=VALUE, or say ?task=classes if labels are classes."
        )
    return True


def number_of(where: str, label: str) -> float:
    """The number that a label is."""
    number = _finite(label)
    if number is None:
        raise TrainingError(
            f"{where}: a label must be a finite number; got {label[:100]!r}. Correct the row, or ask for ?task=classes."
        )
    if abs(number) > LARGEST:
        raise TrainingError(
            f"{where}: a label must be a number from -{LARGEST:g} to {LARGEST:g}, so that its squared error fits single"
            f" precision; got {label[:100]}. Give the labels in a larger unit, or ask for ?task=classes."
        )
    return number


def is_minus_one_hidden(labels: Sequence[Placed], known: Collection[str]) -> bool:
    """Whether -1 is no class but says that there is none, as it does beside the names of classes.

    Args:
        labels: those of classes.
        known: the classes there are, as far as it is known.

    Raises:
        TrainingError: if it may be either, beside other whole numbers.
    """
    if MINUS_ONE in known:
        return False
    place = next((where for where, label in labels if label == MINUS_ONE), None)
    others = {label for _, label in labels if label != MINUS_ONE and _is_whole(label)}
    if place is not None and others:
        raise TrainingError(
            f"{place}: the meaning of a label -1 must be clear; it stands beside other whole numbers, such as"
            f" {min(others)[:100]}. Say ?task=classes if it is a class, ?unlabelled=-1 if it stands for no label, or"
            " ?task=regression if labels are numbers to come close to."
        )
    return True


def require_repeated(source: str, labels: Sequence[str]) -> None:
    """Refuse what are hardly classes: many labels that are nearly all different."""
    different = len(set(labels))
    if different > _FEW and 2 * different > len(labels):
        raise TrainingError(
            f"{source}: classes must repeat; got {different} different labels in {len(labels)} rows, such as"
            f" {labels[0][:100]!r}. Say ?task=classes or ?task=regression after the name of the data."
        )


def _finite(label: str) -> float | None:
    """The number that a label is, if it is a finite one."""
    return float(label) if _NUMBER.fullmatch(label) and math.isfinite(float(label)) else None


def _is_whole(label: str) -> bool:
    number = _finite(label)
    return number is not None and number.is_integer()
