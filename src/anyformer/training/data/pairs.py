"""Labelled texts and pairs of texts, for tasks like MNLI and STS-B: from tables, or GLUE on the hub."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anyformer.errors import TrainingError
from anyformer.training.data.columns import label_of, texts_of
from anyformer.training.data.hold_out import held_out
from anyformer.training.data.labels import (
    MINUS_ONE,
    NO_LABEL,
    are_numbers,
    is_minus_one_hidden,
    number_of,
    require_repeated,
)
from anyformer.training.data.rows import Source, parse_source, rows_of


@dataclass(frozen=True)
class Pairs:
    """Texts with labels: classes, as places in `names`, or numbers, where there are no names."""

    first: tuple[str, ...]
    second: tuple[str, ...] | None
    """None: the task is about single texts."""
    labels: tuple[Any, ...]
    """int for classes, float for numbers."""
    names: tuple[str, ...]
    """The classes; none: the task is regression."""
    skipped: int = 0
    """Rows without a label."""

    def __len__(self) -> int:
        return len(self.labels)


def read_pairs(source: str | Path, names: Sequence[str] | None = None) -> Pairs:
    """Pairs from a file or from GLUE.

    Args:
        source: a table with a header (TSV or CSV), JSON lines, a JSON array or Parquet, also packed, or
            "glue:mnli?split=train". Options keep rows by their columns: "sick.tsv.xz?split=train,trial". The option
            labels=COLUMN names the column of the labels, task=regression or task=classes says what they are, and
            unlabelled=VALUE which of them stand for none.
        names: the labels there may be, for example those trained on, and none where they are numbers; None takes what
            is found: numbers if some are not whole, else classes in their order.

    Returns:
        The pairs; classes are in lower case.
    """
    asked = parse_source(str(source))
    found = [(where, texts_of(where, row), label_of(where, row, asked.labels)) for where, row in rows_of(asked)]
    kept = [one for one in found if one[2] not in (*NO_LABEL, *asked.unlabelled)]
    is_numeric = _are_numeric(kept, asked, names)
    if not is_numeric:
        kept = _without_hidden_classes(kept, asked, names)
    if not kept:
        raise TrainingError(
            f"{source} must have rows with labels; it has none, and {len(found)} without. Give another."
        )
    first, second = zip(*(texts for _, texts, _ in kept), strict=True)
    if None in second and any(text is not None for text in second):
        raise TrainingError(f"{source} must have pairs or single texts; it has both. Part them into two files.")
    labels, order = _numbers(kept) if is_numeric else _classes(kept, names)
    return Pairs(first, None if None in second else second, labels, order, len(found) - len(kept))


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
            kinds = " and ".join(
                f"{'texts' if p.second is None else 'pairs'} of {p.names or 'numbers'}" for p in (parts[0], part)
            )
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
            f" {len(held)} held out at a share of {share}. Give more pairs, or other pairs to measure on by --held-out."
        )
    return _chosen(pairs, [not one for one in held]), _chosen(pairs, held)


def _chosen(pairs: Pairs, chosen: Sequence[bool]) -> Pairs:
    def those(column: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(value for value, one in zip(column, chosen, strict=True) if one)

    second = None if pairs.second is None else those(pairs.second)
    return replace(pairs, first=those(pairs.first), second=second, labels=those(pairs.labels), skipped=0)


_Found = tuple[str, tuple[str, str | None], str]
"""The place of a row, its texts, and its label."""


def _are_numeric(rows: Sequence[_Found], asked: Source, names: Sequence[str] | None) -> bool:
    if names is not None:
        return not names
    if asked.kind is not None:
        return asked.kind == "regression"
    return are_numbers([(where, label) for where, _, label in rows])


def _without_hidden_classes(rows: Sequence[_Found], asked: Source, names: Sequence[str] | None) -> list[_Found]:
    """The rows whose label is a class, where it is plain which these are."""
    kept = list(rows)
    if asked.kind != "classes" and is_minus_one_hidden([(where, label) for where, _, label in rows], names or ()):
        kept = [one for one in rows if one[2] != MINUS_ONE]
    if asked.kind is None and names is None:
        require_repeated(str(asked), [label for _, _, label in kept])
    return kept


def _numbers(rows: Sequence[_Found]) -> tuple[tuple[float, ...], tuple[str, ...]]:
    return tuple(number_of(where, label) for where, _, label in rows), ()


def _classes(rows: Sequence[_Found], names: Sequence[str] | None) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The classes as places among their names."""
    order = tuple(sorted({label for _, _, label in rows}, key=_numbers_first) if names is None else names)
    places = {name: place for place, name in enumerate(order)}
    for where, _, label in rows:
        if label not in places:
            raise TrainingError(
                f"{where}: a label must be one of {', '.join(order)}; got {label!r}. Correct the row, or train on it."
            )
    return tuple(places[label] for _, _, label in rows), order


def _numbers_first(label: str) -> tuple[bool, int, str]:
    is_number = label.removeprefix("-").isdecimal() and len(label) < 20
    return (False, int(label), label) if is_number else (True, 0, label)
