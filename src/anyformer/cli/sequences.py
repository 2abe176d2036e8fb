"""Sequences in files: .npy arrays, and CSV with one sequence a row."""

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from anyformer.arrays import Array, as_sequences
from anyformer.atomic import atomic_file
from anyformer.errors import UsageError, words_of
from anyformer.settings import number_of

SUFFIXES = (".npy", ".csv")


def read_sequences(source: str, tokens: int, width: int) -> Array:
    """Sequences of shape (batch, tokens, width) from a .npy or .csv file, or from CSV on standard input for "-"."""
    if source == "-":
        return _read_csv(sys.stdin, "standard input", tokens, width)
    path = Path(source)
    suffix = check_suffix(path, "the input")
    if not path.is_file():
        raise UsageError(f"the input must be an existing file; there is none at {source!r}.")
    if suffix == ".npy":
        return _read_npy(path, tokens, width)
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return _read_csv(lines, repr(source), tokens, width)


def check_suffix(path: Path, what: str) -> str:
    """The suffix that says how a file is written, or an error that names those there are."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{what} must end in {' or '.join(SUFFIXES)}; got {str(path)!r}.")
    return suffix


def check_output(path: Path) -> None:
    """Check before the work starts whether its results can be written."""
    check_suffix(path, "--output")
    if not path.parent.is_dir():
        raise UsageError(
            f"--output must be in an existing folder; there is none at {str(path.parent)!r}. Make it first."
        )


def _read_npy(path: Path, tokens: int, width: int) -> Array:
    try:
        array = np.load(path, allow_pickle=False)
    except Exception as error:  # NumPy's reader of headers raises what Python's own does, of all kinds
        raise UsageError(
            f"{str(path)!r} must be an array as numpy.save writes it, of numbers; it cannot be read: {error}"
        ) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        kind = array.dtype if isinstance(array, np.ndarray) else "an archive"
        raise UsageError(f"{str(path)!r} must hold one array of real numbers; got {kind}.")
    sequences = as_sequences(array, tokens, width, UsageError, repr(str(path)))
    if not len(sequences):
        raise UsageError(f"{str(path)!r} must hold at least one sequence; its shape is {sequences.shape}.")
    return sequences


def _read_csv(lines: TextIO, name: str, tokens: int, width: int) -> Array:
    rows: list[list[float]] = []
    reader = csv.reader(lines)
    try:
        for fields in reader:
            is_first = not rows and reader.line_num == 1
            if fields and not (is_first and _is_header(fields)):
                rows.append(_row(fields, tokens * width, f"line {reader.line_num} of {name}"))
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(
            f"{name} must be CSV in UTF-8; after line {reader.line_num} it is not: {words_of(error)}."
        ) from error
    if not rows:
        raise UsageError(f"{name} must hold at least one sequence: a line of {tokens * width} numbers. It has none.")
    return np.array(rows).reshape(-1, tokens, width)


def _row(fields: list[str], entries: int, place: str) -> list[float]:
    if len(fields) != entries:
        raise UsageError(f"{place} must have {entries} numbers, token by token; got {len(fields)}.")
    try:
        return [number_of(text) for text in fields]
    except ValueError:
        at = next(index for index, text in enumerate(fields, start=1) if not _is_number(text))
        raise UsageError(f"{place} must have finite numbers; field {at} is {fields[at - 1]!r}.") from None


def _is_header(fields: list[str]) -> bool:
    """A first line without a single number. With one, it is a row with a mistake, and must not go unnoticed."""
    return not any(map(_reads_as_float, fields))


def _reads_as_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_number(text: str) -> bool:
    try:
        number_of(text)
    except ValueError:
        return False
    return True


def write_sequences(path: Path, sequences: Array) -> None:
    """Write sequences as .npy or .csv, all or nothing."""
    writers: dict[str, Callable[[BinaryIO], None]] = {
        ".npy": lambda file: np.save(file, sequences, allow_pickle=False),
        ".csv": lambda file: file.writelines(line.encode() for line in csv_lines(sequences)),
    }
    with atomic_file(path) as file:
        writers[check_suffix(path, "the output")](file)


def csv_lines(sequences: Array) -> Iterator[str]:
    """One sequence a line, token by token; every float reads back to the same bits."""
    for row in sequences.reshape(len(sequences), -1).tolist():
        yield ",".join(map(repr, row)) + "\n"
