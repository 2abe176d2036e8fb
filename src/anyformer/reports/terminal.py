"""The parts of every text report: text that cannot control the terminal, numbers, facts and tables."""

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TextIO

from rich.console import Console
from rich.text import Text

from anyformer.reports.layout import Column, Facts, Paragraph, Tabular

DIGITS = 12
"""Significant digits of a value in a report; JSON keeps all of them."""


def console(stream: TextIO | None = None) -> Console:
    """A console that takes text as it is: no markup, no emoji codes, no colours unless it is a terminal."""
    return Console(file=stream or sys.stdout, markup=False, emoji=False, highlight=False, soft_wrap=False)


def visible(text: object, keep: str = "") -> str:
    r"""The text with everything that could move the cursor, change colours or reorder letters written out.

    >>> visible("red\x1b[31m")
    'red\\x1b[31m'

    Args:
        text: anything; names in model files and functions may come from anyone.
        keep: characters to leave alone, such as the line feeds of a message.
    """
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in str(text))


def number(value: float) -> str:
    """A float in as few characters as it needs, at most DIGITS digits.

    >>> number(0.125), number(1 / 3), number(1048576.0)
    ('0.125', '0.333333333333', '1048576')
    """
    return f"{value:.{DIGITS}g}"


def error_size(value: float) -> str:
    """An error, a bound or a volume: six digits say enough."""
    return f"{value:.6g}"


def numbers(column: Sequence[float]) -> str:
    """The numbers of one token."""
    return ", ".join(map(number, column))


def count(value: int) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}"


def rounded(value: float, digits: int) -> str:
    """A number to so many significant digits and no exponent; digits before the point are all kept.

    >>> rounded(0.04321, 2), rounded(110.4, 2), rounded(12345.6, 4)
    ('0.043', '110', '12,346')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    shown = f"{value:,.{decimals}f}"
    return shown.rstrip("0").rstrip(".") if decimals else shown


def size(count_of_bytes: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> size(42), size(32_000)
    ('42 bytes', '32.0 kB')
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count_of_bytes >= unit:
            return f"{count_of_bytes / unit:,.1f} {name}"
    return f"{count_of_bytes:g} bytes"


MICROSECOND, MINUTE, HOUR, DAY = 1e-6, 60.0, 3600.0, 86400.0
YEAR = 365.25 * DAY
MOST_YEARS = 1e6


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> duration(0.25), duration(110), duration(600)
    ('0.25 s', '110 s', '10 min')
    """
    if seconds >= MOST_YEARS * YEAR:
        return f"over {MOST_YEARS:,.0f} years"
    for unit, name in ((YEAR, "years"), (DAY, "days"), (HOUR, "hours"), (MINUTE, "min")):
        if seconds >= 2 * unit:
            return f"{rounded(seconds / unit, 3)} {name}"
    if 0 < seconds < 1000 * MICROSECOND:
        return f"{rounded(seconds / MICROSECOND, 2)} µs"
    return f"{rounded(seconds, 2)} s"


def heading(text: str, style: str = "bold") -> Text:
    """A line that stands out on a terminal."""
    return Text(visible(text), style=style)


def facts(rows: Sequence[Sequence[str]]) -> Facts:
    """Facts, one per line: only the last column wraps."""
    return Facts([[visible(cell) for cell in row] for row in rows])


def paragraph(text: str, style: str = "none") -> Paragraph:
    """Text that keeps its distance from the margin on every line."""
    return Paragraph(visible(text), style)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], wrapping: Sequence[str] = (), right: Sequence[str] = ()
) -> Tabular:
    """A table of text whose cells stay on one line, except in the columns named `wrapping`."""
    cells = _columns(len(columns), rows)
    return Tabular(
        [
            Column(_head(head), cells[place], is_right=head in right, wraps=head in wrapping)
            for place, head in enumerate(columns)
        ]
    )


def narrow_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Tabular:
    """A table of numbers, its first column text, that takes as little room as it can.

    Line feeds in its heads say where they may be broken.
    """
    cells = _columns(len(heads), rows)
    first, *others = (Column(_head(head), cells[place], is_right=place > 0) for place, head in enumerate(heads))
    return Tabular([replace(first, is_name=True), *others], gap=1)


def _head(text: str) -> str:
    """Its line feeds say where it may be broken."""
    return "\n".join(map(visible, text.split("\n")))


def _columns(count_of_columns: int, rows: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    shown = [tuple(map(visible, row)) for row in rows]
    return [tuple(row[place] for row in shown) for place in range(count_of_columns)]
