"""Rows of a source, each with its place, so that an error can name it: a file, or a task of GLUE on the hub."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyformer.errors import TrainingError
from anyformer.training.data.formats import Row, file_rows, named_class
from anyformer.training.data.hub import load_rows
from anyformer.training.data.sources import split_source

GLUE: Final = "nyu-mll/glue"
KINDS: Final = ("classes", "regression")
"""What labels may be: one of some classes, or a number to come close to."""


@dataclass(frozen=True)
class Source:
    """What a source such as "sick.tsv.xz?split=train&labels=relatedness" names."""

    name: str
    """A file, or "glue:mnli"."""
    kept: Mapping[str, str]
    """Rows are kept by columns: the values a column may have, with commas between them."""
    labels: str | None = None
    """The column of the labels, by the option `labels`; None: the usual one."""
    kind: str | None = None
    """One of KINDS, by the option `task`; None: as the labels are."""
    unlabelled: tuple[str, ...] = ()
    """Labels that stand for none, by the option `unlabelled`, beside those that always do."""

    @property
    def glue(self) -> str | None:
        """The task of GLUE, if it is one."""
        return self.name.removeprefix("glue:") if self.name.startswith("glue:") else None

    def __str__(self) -> str:
        kept = "&".join(f"{column}={values}" for column, values in self.kept.items())
        return f"{self.name}?{kept}" if kept else self.name


def parse_source(source: str) -> Source:
    """The parts of a source.

    >>> parse_source("sts.csv?split=dev&task=regression").kind
    'regression'
    """
    is_glue = source.startswith("glue:")
    name, options = (source, {}) if not is_glue and Path(source).exists() else split_source(source)
    kind = options.pop("task") if options.get("task") in KINDS else None
    unlabelled = options.pop("unlabelled", None)
    marks = () if unlabelled is None else tuple(mark.strip().lower() for mark in unlabelled.split(","))
    return Source(name, options, options.pop("labels", None), kind, marks)


def rows_of(source: Source) -> Iterator[Row]:
    """The rows that a source keeps."""
    if source.glue is None:
        return _kept(source, file_rows(Path(source.name)), source.kept)
    kept = dict(source.kept)
    return _kept(source, glue_rows(source.glue, kept.pop("split", "train")), kept)


def glue_rows(task: str, split: str) -> Iterator[Row]:
    """A task of GLUE from the hub, labels by their names; a hidden label is -1, of numbers too."""
    rows = load_rows(GLUE, task, split)
    names = getattr(rows.features.get("label"), "names", None)
    for number, row in enumerate(rows, 1):
        label = named_class(names, row.get("label"))
        yield f"{GLUE} {task} {split}, row {number}", {**row, "label": None if label == -1 else label}


def _kept(source: Source, rows: Iterator[Row], kept: Mapping[str, str]) -> Iterator[Row]:
    """The rows whose columns have one of the values asked for."""
    seen: dict[str, set[str]] = {column: set() for column in kept}
    some = False
    for where, row in rows:
        for column in kept:
            if column not in row:
                raise TrainingError(f"{where}: a column to choose by must be one of {', '.join(row)}; got {column!r}.")
            seen[column].add(str(row[column]))
        if all(str(row[column]) in values.split(",") for column, values in kept.items()):
            some = True
            yield where, row
    if kept and not some:
        there = "; ".join(f"{column} is {', '.join(sorted(values)[:20])}" for column, values in seen.items())
        raise TrainingError(f"{source} must choose some rows; it chose none. There are: {there or 'no rows'}.")
