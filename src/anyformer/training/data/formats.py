"""Tables in files: TSV, CSV, JSON and Parquet, told apart by what is in them rather than by their names."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from anyformer import strict_json
from anyformer.errors import TrainingError, words_of
from anyformer.extras import require
from anyformer.training.data.reading import read_bytes, read_head, read_lines, read_text

Row = tuple[str, Mapping[str, Any]]
"""The place of a row, for errors, and its columns."""

PARQUET: Final = b"PAR1"
"""How every Parquet file starts and ends."""
LONGEST_VALUE: Final = 1 << 24
"""The most characters of a value in quotes: one whose closing quote is missing goes on to the end of the file."""
_SEPARATORS: Final = ("\t", ",", ";")
"""What a header may be parted by; the first that it has is used, in a .csv the first after the tab."""


def file_rows(place: Path) -> Iterator[Row]:
    """The rows of a table.

    Args:
        place: Parquet; JSON, an array or an object a line; TSV or CSV with a header. Also packed by xz or gzip.
    """
    ending, head = _ending(place), read_head(place)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if head.startswith(PARQUET):
        return parquet_rows(place)
    if ending == ".parquet":
        raise TrainingError(
            f"{place} must be Parquet, which starts with {PARQUET.decode()}; it starts with {head[:4]!r}."
            " Name the file for what it is, or get it again."
        )
    if start == b"[" and (ending == ".json" or ending == ".jsonl" or head.lstrip(b"\xef\xbb\xbf \r\n\t[")[:1] == b"{"):
        return json_array_rows(place)
    if start == b"{" or ending in (".json", ".jsonl"):
        return json_rows(place)
    return _separated_rows(place, ending)


def tsv_rows(place: Path) -> Iterator[Row]:
    """The rows of a table with a header. Quotes are ordinary characters: sentences may have unpaired ones."""
    header: list[str] | None = None
    for number, line in read_lines(place):
        values = line.split("\t")
        if header is not None and line:
            yield (where := f"{place}, line {number}"), _row(where, header, values, "tabs")
        elif header is None and line.strip():
            header = _header(place, values)


def csv_rows(place: Path, separator: str) -> Iterator[Row]:
    """The rows of a table with a header, whose values may stand in quotes and then hold separators and line ends."""
    header: list[str] | None = None
    reader = csv.reader((line + "\n" for _, line in read_lines(place)), delimiter=separator, strict=True)
    start = 1
    while (values := _next_values(reader, f"{place}, line {start}")) is not None:
        if header is not None and values:
            yield (where := f"{place}, line {start}"), _row(where, header, values, f"{separator!r}")
        elif header is None and any(value.strip() for value in values):
            header = _header(place, values)
        start = reader.line_num + 1


def _next_values(reader: Iterator[list[str]], where: str) -> list[str] | None:
    """The values of the next row; None after the last one."""
    before = csv.field_size_limit(LONGEST_VALUE)  # it is of the whole process
    try:
        return next(reader, None)
    except csv.Error as error:
        raise TrainingError(
            f"{where}: a row must be CSV, with every quote in a value doubled and values of at most {LONGEST_VALUE}"
            f" characters; {words_of(error)}. Correct it, or save the table as TSV."
        ) from error
    finally:
        csv.field_size_limit(before)


def json_rows(place: Path) -> Iterator[Row]:
    """One JSON object a line."""
    for number, line in read_lines(place):
        if line.strip():
            where = f"{place}, line {number}"
            try:
                row = strict_json.loads(line)
            except ValueError as error:
                _require_line_feeds(where, line)
                raise TrainingError(f"{where}: must be a JSON object; it cannot be read: {words_of(error)}.") from error
            yield where, _object(where, row)


def json_array_rows(place: Path) -> Iterator[Row]:
    """A JSON array of objects."""
    try:
        rows = strict_json.loads(read_text(place))
    except ValueError as error:
        raise TrainingError(
            f"{place} must be a JSON array of objects; it cannot be read: {words_of(error)}. Give one object a line."
        ) from error
    for number, row in enumerate(rows, 1):
        yield (where := f"{place}, item {number}"), _object(where, row)


def parquet_rows(place: Path) -> Iterator[Row]:
    """The rows of a Parquet file; classes that `datasets` saved as numbers come by their names."""
    parquet = require("pyarrow.parquet", extra="train", what="reading Parquet")
    arrow = require("pyarrow", extra="train", what="reading Parquet")
    number = 0
    try:
        with parquet.ParquetFile(arrow.BufferReader(read_bytes(place))) as file:
            named = _class_names(file.schema_arrow.metadata or {})
            for batch in file.iter_batches(batch_size=1000):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{place}, row {number}", {name: _value(named, name, value) for name, value in row.items()}
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise TrainingError(
            f"{place} must be a whole Parquet file; it cannot be read after row {number} ({words_of(error)})."
            " Get it again."
        ) from error


def named_class(names: Sequence[str] | None, value: Any) -> Any:
    """A class by its name, where it has one; -1 is no class then."""
    if not names or not isinstance(value, int) or isinstance(value, bool):
        return value
    return None if value == -1 else names[value] if 0 <= value < len(names) else value


def _value(named: Mapping[str, list[str]], name: str, value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):  # pandas' way to say that there is nothing
        return None
    return named_class(named.get(name), value)


def _class_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """The names of classes by column, which `datasets` notes in its Parquet files."""
    try:
        features = strict_json.loads(metadata[b"huggingface"].decode())["info"]["features"]
        named = {name: feature.get("names") for name, feature in features.items() if isinstance(feature, dict)}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}
    return {
        name: names
        for name, names in named.items()
        if isinstance(names, list) and all(isinstance(one, str) for one in names)
    }


def _separated_rows(place: Path, ending: str) -> Iterator[Row]:
    header = next((line for _, line in read_lines(place) if line.strip()), "")
    _require_line_feeds(str(place), header)
    order = (*_SEPARATORS[1:], _SEPARATORS[0]) if ending == ".csv" else _SEPARATORS
    separator = next((one for one in order if one in header), "\t")
    return tsv_rows(place) if separator == "\t" else csv_rows(place, separator)


def _require_line_feeds(where: str, line: str) -> None:
    """Refuse a file whose lines all end in CR, as the programs of old computers wrote them."""
    if "\r" in line:
        raise TrainingError(f"{where}: lines must end in LF or CRLF; got CR alone. Convert the file (tr '\\r' '\\n').")


def _ending(place: Path) -> str:
    return Path(place.name.removesuffix(".xz").removesuffix(".gz")).suffix.lower()


def _header(place: Path, values: Sequence[str]) -> list[str]:
    header = [name.strip() for name in values]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise TrainingError(f"{place}: a column must be there once; {twice!r} is there twice. Rename one.")
    return header


def _row(where: str, header: Sequence[str], values: Sequence[str], parted_by: str) -> dict[str, str]:
    if len(values) != len(header):
        raise TrainingError(
            f"{where}: a row must have {len(header)} columns separated by {parted_by}"
            f" ({', '.join(header)}); got {len(values)}. Correct or remove it."
        )
    return dict(zip(header, values, strict=True))


def _object(where: str, row: Any) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise TrainingError(f"{where}: must be a JSON object; got {type(row).__name__}.")
    return row
