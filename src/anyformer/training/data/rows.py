"""Rows of a table, each with its place in the file, so that an error can name it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from anyformer import strict_json
from anyformer.errors import TrainingError, words_of
from anyformer.training.data.hub import load_rows
from anyformer.training.data.reading import read_lines

GLUE: Final = "nyu-mll/glue"


def tsv_rows(place: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of a table with a header. Quotes are ordinary characters: sentences may have unpaired ones."""
    header: list[str] | None = None
    for number, line in read_lines(place):
        values = line.split("\t")
        if header is None:
            header = [name.strip() for name in values]
            if len(set(header)) < len(header):
                twice = next(name for name in header if header.count(name) > 1)
                raise TrainingError(f"{place}: a column must be there once; {twice!r} is there twice. Rename one.")
        elif line:
            if len(values) != len(header):
                raise TrainingError(
                    f"{place}, line {number}: a row must have {len(header)} columns separated by tabs"
                    f" ({', '.join(header)}); got {len(values)}. Correct or remove it."
                )
            yield f"{place}, line {number}", dict(zip(header, values, strict=True))


def json_rows(place: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """One JSON object a line."""
    for number, line in read_lines(place):
        if line.strip():
            where = f"{place}, line {number}"
            try:
                row = strict_json.loads(line)
            except ValueError as error:
                raise TrainingError(f"{where}: must be a JSON object; it cannot be read: {words_of(error)}.") from error
            if not isinstance(row, dict):
                raise TrainingError(f"{where}: must be a JSON object; got {type(row).__name__}.")
            yield where, row


def glue_rows(task: str, split: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A task of GLUE from the hub, labels by their names."""
    rows = load_rows(GLUE, task, split)
    names = getattr(rows.features.get("label"), "names", None)
    for number, row in enumerate(rows, 1):
        label = row.get("label")
        named = names[label] if names and isinstance(label, int) and label >= 0 else label
        yield f"{GLUE} {task} {split}, row {number}", {**row, "label": named}
