"""Texts with all that stands beside them: labels where there are any, and further columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self, final

from anyformer.errors import TrainingError
from anyformer.training.data.columns import label_column, label_of, texts_of
from anyformer.training.data.formats import Row
from anyformer.training.data.labels import MINUS_ONE, NO_LABEL, is_minus_one_hidden, number_of
from anyformer.training.data.pairs import Pairs
from anyformer.training.data.rows import Source, rows_of

Label = str | float | None
"""A class, a number, or None where a row has no label."""
IDS: Final = ("id", "idx", "index", "pair_id", "pairID", "guid")
"""Columns that may name the rows; the first that all rows have, each with its own value."""


@final
@dataclass(frozen=True)
class Table:
    """Texts to predict for; every column has one entry a row."""

    ids: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...] | None
    """None: the task is about single texts."""
    labels: tuple[Label, ...]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def of(cls, pairs: Pairs) -> Self:
        """Pairs with their places as ids, and their labels by name."""
        labels = tuple(pairs.names[place] for place in pairs.labels) if pairs.names else pairs.labels
        return cls(tuple(map(str, range(len(pairs)))), pairs.first, pairs.second, labels)

    def labelled(self) -> Self:
        """The rows that have labels."""
        kept = [place for place, label in enumerate(self.labels) if label is not None]

        def those(column: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(column[place] for place in kept)

        second = None if self.second is None else those(self.second)
        columns = {name: those(column) for name, column in self.columns.items()}
        return type(self)(those(self.ids), those(self.first), second, those(self.labels), columns)


def read_table(source: Source, numbers: bool | None, columns: Sequence[str] = ()) -> Table:
    """The rows of a source, also those without a label.

    Args:
        source: by `parse_source`, for example "hans.tsv.xz?heuristic=constituent".
        numbers: whether labels are numbers, as the model to be evaluated gives them; None keeps labels as they are.
        columns: those to keep beside the texts.
    """
    rows = list(rows_of(source))
    if not rows:
        raise TrainingError(f"{source} must have rows; it has none. Give another.")
    for where, row in rows:
        for column in columns:
            if column not in row:
                raise TrainingError(f"{where}: a column to group by must be one of {', '.join(row)}; got {column!r}.")
    first, second = zip(*(texts_of(where, row) for where, row in rows), strict=True)
    if None in second and any(text is not None for text in second):
        raise TrainingError(f"{source} must have pairs or single texts; it has both. Part them into two files.")
    return Table(
        _ids([row for _, row in rows]),
        first,
        None if None in second else second,
        _labels(rows, source, numbers),
        {column: tuple(str(row[column]) for _, row in rows) for column in columns},
    )


def _labels(rows: Sequence[Row], source: Source, numbers: bool | None) -> tuple[Label, ...]:
    """Of every row, None where it has none."""
    labels = [(where, _label(where, row, source)) for where, row in rows]
    no_label = {*NO_LABEL, *source.unlabelled}
    if numbers is None:
        return tuple(None if label in no_label else label for _, label in labels)
    there = [(where, label) for where, label in labels if label not in no_label]
    if numbers:
        return tuple(None if label in no_label else number_of(where, label) for where, label in labels)
    if source.kind != "classes" and is_minus_one_hidden(there, ()):
        no_label.add(MINUS_ONE)
    return tuple(None if label in no_label else label for _, label in labels)


def _label(where: str, row: Mapping[str, Any], source: Source) -> str:
    """Nothing where there is no column of labels, and none was asked for."""
    return "" if source.labels is None and label_column(row) is None else label_of(where, row, source.labels)


def _ids(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    for name in IDS:
        found = tuple(str(row[name]) for row in rows if row.get(name) not in (None, ""))
        if len(found) == len(set(found)) == len(rows):
            return found
    return tuple(map(str, range(len(rows))))
