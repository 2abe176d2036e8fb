"""Which columns of a table of labelled texts hold what."""

from collections.abc import Mapping
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
LABELS: Final = ("label", "gold_label")
NO_LABEL: Final = ("-", "-1", "")
"""SNLI's mark of a pair without a majority, GLUE's of a hidden label, and nothing."""


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


def label_of(where: str, row: Mapping[str, Any]) -> str:
    """In lower case; one of NO_LABEL where there is none."""
    column = next((column for column in LABELS if column in row), None)
    if column is None:
        raise TrainingError(f"{where}: a row must have a column {' or '.join(LABELS)}; got {', '.join(row)}.")
    if isinstance(row[column], float):
        raise TrainingError(f"{where}: a label must be a class; got {row[column]}. Regression is not among the tasks.")
    return "" if row[column] is None else str(row[column]).strip().lower()
