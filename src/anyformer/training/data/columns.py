"""Which columns of a table of labelled texts hold what."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from anyformer.errors import TrainingError, words_of

TEXTS: Final = (
    ("premise", "hypothesis"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("sentence", None),
    ("text", None),
)
"""Columns that may hold the texts; the first ones that a table has are used."""
LABELS: Final = ("label", "gold_label", "score")
NO_LABEL: Final = ("-", "-1", "")
"""SNLI's mark of a pair without a majority, GLUE's of a hidden label, and nothing."""
HIDDEN: Final = ("-", "")
"""The same among numbers, where -1 may be one."""
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?", re.ASCII)


def texts_of(where: str, row: Mapping[str, Any]) -> tuple[str, str | None]:
    """The text, and the second one of a pair."""
    for first, second in TEXTS:
        if first in row and (second is None or second in row):
            return _text(where, first, row[first]), None if second is None else _text(where, second, row[second])
    wanted = ", ".join("/".join(filter(None, columns)) for columns in TEXTS)
    raise TrainingError(f"{where}: the texts must be in columns {wanted}; got {', '.join(row)}. Rename the columns.")


def _text(where: str, column: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TrainingError(f"{where}: {column} must be a text; got {value!r}. Correct or remove the row.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise TrainingError(f"{where}: {column} must be a text of whole characters; {words_of(error)}.") from error
    return value


def label_of(where: str, row: Mapping[str, Any], column: str | None = None) -> str:
    """In lower case, numbers in their shortest form; one of NO_LABEL where there is none.

    Args:
        where: the place of the row.
        row: its columns.
        column: where the label is; None: in the first of LABELS that there is.
    """
    found = label_column(row) if column is None else column
    if found is None or found not in row:
        wanted = " or ".join(LABELS) if column is None else column
        raise TrainingError(f"{where}: a row must have a column {wanted}; got {', '.join(row)}.")
    value = row[found]
    if isinstance(value, float) and value.is_integer():  # a whole number that pandas or JSON wrote as 1.0
        return str(int(value))
    return "" if value is None else str(value).strip().lower()


def label_column(row: Mapping[str, Any]) -> str | None:
    """The column of the labels, if there is one of the usual ones."""
    return next((column for column in LABELS if column in row), None)


def are_numbers(labels: Iterable[str]) -> bool:
    """Whether labels are numbers to come close to, and not classes: all are numbers, and not all of them are whole.

    >>> are_numbers(["0", "2.5", "5"]), are_numbers(["0", "1", "2"]), are_numbers(["2.5", "unknown"])
    (True, False, False)
    """
    there = [label for label in labels if label not in HIDDEN]
    return all(map(_NUMBER.fullmatch, there)) and any("." in one and not float(one).is_integer() for one in there)


def number_of(where: str, label: str) -> float:
    """The number that a label is."""
    if not _NUMBER.fullmatch(label) or not math.isfinite(float(label)):
        raise TrainingError(
            f"{where}: a label must be a finite number; got {label[:100]!r}. Correct the row, or ask for ?task=classes."
        )
    return float(label)
