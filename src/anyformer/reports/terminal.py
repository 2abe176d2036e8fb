"""What every text report is made of: text that cannot play tricks on a terminal, numbers, and plain tables."""

import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

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
        text: anything; names in model files and functions are other people's.
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


def size(count_of_bytes: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> size(42), size(32_000)
    ('42 bytes', '32.0 kB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count_of_bytes >= unit:
            return f"{count_of_bytes / unit:,.1f} {name}"
    return f"{count_of_bytes:g} bytes"


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> duration(0.25), duration(600)
    ('0.25 s', '10 min')
    """
    for unit, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.3g} {name}"
    return f"{seconds:.2g} s"


def heading(text: str, style: str = "bold") -> Text:
    """A line that stands out on a terminal."""
    return Text(visible(text), style=style)


def facts(rows: Sequence[Sequence[str]]) -> Padding:
    """What is known, a line each: the last column wraps, those before it never do."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for place in range(len(rows[0])):
        is_last = place == len(rows[0]) - 1
        grid.add_column(no_wrap=not is_last, overflow="fold", style="dim" if place == 0 else "none")
    for row in rows:
        grid.add_row(*(Text(visible(cell)) for cell in row))
    return Padding(grid, (0, 0, 0, 2), expand=False)


def paragraph(text: str, style: str = "none") -> Padding:
    """Text that keeps its distance from the margin on every line."""
    return Padding(Text(visible(text), style=style), (0, 0, 0, 2), expand=False)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], wrapping: Sequence[str] = (), right: Sequence[str] = ()
) -> Table:
    """A table of text whose cells stay on one line, except in the columns named `wrapping`."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        justify: JustifyMethod = "right" if name in right else "left"
        made.add_column(Text(name), no_wrap=name not in wrapping, overflow="fold", justify=justify)
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    return made


def narrow_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of numbers, its first column text, that keeps to 80 columns; what is too wide folds, nothing is lost."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, padding=0)
    for place, head in enumerate(heads):
        made.add_column(Text(head), overflow="fold", justify="left" if place == 0 else "right", vertical="top")
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    return made
