"""Labelled texts and pairs of texts, for tasks like MNLI: from TSV, JSON lines, or GLUE on the hub."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anyformer.errors import TrainingError
from anyformer.training.data.columns import NO_LABEL, label_of, texts_of
from anyformer.training.data.hold_out import held_out
from anyformer.training.data.rows import glue_rows, json_rows, tsv_rows
from anyformer.training.data.sources import split_source

_Row = tuple[str, Mapping[str, Any]]
"""The place of a row, for errors, and its columns."""


@dataclass(frozen=True)
class Pairs:
    """Texts with labels; `labels` are places in `names`."""

    first: tuple[str, ...]
    second: tuple[str, ...] | None
    """None: the task is about single texts."""
    labels: tuple[int, ...]
    names: tuple[str, ...]
    skipped: int = 0
    """Rows without a label."""

    def __len__(self) -> int:
        return len(self.labels)


def read_pairs(source: str | Path, names: Sequence[str] | None = None) -> Pairs:
    """Pairs from a file or from GLUE.

    Args:
        source: a TSV with a header, or JSON lines (.jsonl), also packed, or "glue:mnli?split=train". Options keep rows
            by their columns: "sick.tsv.xz?split=train,trial".
        names: the labels there may be, for example those trained on; None takes those that are found, in their order.

    Returns:
        The pairs; labels are in lower case.
    """
    rows, texts, labels, skipped = _rows(str(source)), [], [], 0
    for where, row in rows:
        label = label_of(where, row)
        if label in NO_LABEL:
            skipped += 1
            continue
        if names is not None and label not in names:
            raise TrainingError(
                f"{where}: a label must be one of {', '.join(names)}; got {label!r}. Correct the row, or train on it."
            )
        texts.append(texts_of(where, row))
        labels.append(label)
    if not labels:
        raise TrainingError(f"{source} must have rows with labels; it has none, and {skipped} without. Give another.")
    order = tuple(sorted(set(labels), key=_numbers_first) if names is None else names)
    places = {name: place for place, name in enumerate(order)}
    first, second = zip(*texts, strict=True)
    if None in second and any(text is not None for text in second):
        raise TrainingError(f"{source} must have pairs or single texts; it has both. Part them into two files.")
    return Pairs(first, None if None in second else second, tuple(places[label] for label in labels), order, skipped)


def read_all_pairs(sources: Sequence[str | Path]) -> Pairs:
    """Pairs from several places, with the labels of the first."""
    if not sources:
        raise TrainingError("pairs must come from at least one file; none was named. Name one.")
    first = read_pairs(sources[0])
    return join_pairs([first, *(read_pairs(source, first.names) for source in sources[1:])])


def join_pairs(parts: Sequence[Pairs]) -> Pairs:
    """One after the other; all must have the same labels."""
    if not parts:
        raise TrainingError("pairs to join must be at least one; got none. Give a file.")
    for part in parts:
        if part.names != parts[0].names or (part.second is None) != (parts[0].second is None):
            kinds = " and ".join(f"{'texts' if p.second is None else 'pairs'} of {p.names}" for p in (parts[0], part))
            raise TrainingError(
                f"joined pairs must have the same labels and be all pairs or all single texts; got {kinds}."
                " Read them with the same names."
            )
    second = None if parts[0].second is None else tuple(text for part in parts for text in part.second or ())
    return Pairs(
        tuple(text for part in parts for text in part.first),
        second,
        tuple(label for part in parts for label in part.labels),
        parts[0].names,
        sum(part.skipped for part in parts),
    )


def split_pairs(pairs: Pairs, share: float, seed: int) -> tuple[Pairs, Pairs]:
    """Pairs to train on and about `share` held out; no first text is on both sides."""
    held = [held_out(text, share, seed) for text in pairs.first]
    if all(held) or not any(held):
        raise TrainingError(
            f"both sides of a split must have pairs; {len(set(pairs.first))} first texts gave {sum(held)} of"
            f" {len(held)} held out at a share of {share}. Give more pairs, or another share or seed."
        )
    return _chosen(pairs, [not one for one in held]), _chosen(pairs, held)


def _chosen(pairs: Pairs, chosen: Sequence[bool]) -> Pairs:
    def those(column: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(value for value, one in zip(column, chosen, strict=True) if one)

    second = None if pairs.second is None else those(pairs.second)
    return replace(pairs, first=those(pairs.first), second=second, labels=those(pairs.labels), skipped=0)


def _rows(source: str) -> Iterator[_Row]:
    if source.startswith("glue:"):
        task, options = split_source(source.removeprefix("glue:"))
        yield from _kept(source, glue_rows(task, options.pop("split", "train")), options)
        return
    name, options = (source, {}) if Path(source).exists() else split_source(source)
    packed_as = Path(name.removesuffix(".xz").removesuffix(".gz")).suffix
    read: Callable[[Path], Iterator[_Row]] = json_rows if packed_as in (".jsonl", ".json") else tsv_rows
    yield from _kept(source, read(Path(name)), options)


def _kept(source: str, rows: Iterator[_Row], options: Mapping[str, str]) -> Iterator[_Row]:
    """The rows whose columns have one of the values asked for."""
    seen: dict[str, set[str]] = {column: set() for column in options}
    some = False
    for where, row in rows:
        for column in options:
            if column not in row:
                raise TrainingError(f"{where}: a column to choose by must be one of {', '.join(row)}; got {column!r}.")
            seen[column].add(str(row[column]))
        if all(str(row[column]) in values.split(",") for column, values in options.items()):
            some = True
            yield where, row
    if options and not some:
        there = "; ".join(f"{column} is {', '.join(sorted(values)[:20])}" for column, values in seen.items())
        raise TrainingError(f"{source} must choose some rows; it chose none. There are: {there or 'no rows'}.")


def _numbers_first(label: str) -> tuple[bool, int, str]:
    return (False, int(label), label) if label.isdecimal() and len(label) < 20 else (True, 0, label)
