"""Which columns of a table of labelled texts hold what."""

import reprlib
from collections.abc import Mapping
from decimal import Decimal
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
    return _whole(where, column, value)


def _whole(where: str, column: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TrainingError(f"{where}: {column} must be a text of whole characters; {words_of(error)}.") from error
    return text


def label_of(where: str, row: Mapping[str, Any], column: str | None = None) -> str:
    """In lower case, numbers in their shortest form; nothing where there is none.

    Args:
        where: the place of the row.
        row: its columns.
        column: where the label is; None: in the first of LABELS that there is.
    """
    found = label_column(row) if column is None else column
    if found is None or found not in row:
        wanted = " or ".join(LABELS) if column is None else column
        raise TrainingError(f"{where}: a row must have a column {wanted}; got {', '.join(row)}.")
    return _label(where, found, row[found]).strip().lower()


def _label(where: str, column: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):  # Parquet of older programs has its texts like this
        value = _decoded(where, column, value)
    if not isinstance(value, str | int | float | Decimal):
        raise TrainingError(
            f"{where}: {column} must be a text or a number; got {reprlib.repr(value)}. Correct the row, or name another"
            " column by ?labels=COLUMN."
        )
    if isinstance(value, float) and value.is_integer():  # a whole number that pandas or JSON wrote as 1.0
        return str(int(value))
    return _whole(where, column, str(value))


def _decoded(where: str, column: str, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise TrainingError(
            f"{where}: {column} must be a text in UTF-8; got {reprlib.repr(value)}. Correct the row."
        ) from error


def label_column(row: Mapping[str, Any]) -> str | None:
    """The column of the labels, if there is one of the usual ones."""
    return next((column for column in LABELS if column in row), None)
