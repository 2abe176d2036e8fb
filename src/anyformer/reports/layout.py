"""Facts and tables that fit their terminal: text wraps between words, and no word or number is ever broken.

A word that is too wide for a line is left to the terminal to break; so it can still be copied. A table that
does not fit is stacked: a row becomes a heading and a line for each of its cells, so that nothing is lost.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

# Text beside something else has so many columns at least, or all it needs; otherwise it goes below.
LEAST = 20
INDENT, GAP = 2, 2


@dataclass(frozen=True)
class Paragraph:
    """Text that keeps its distance from the margin on every line."""

    text: str
    style: str = "none"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line in wrapped(self.text, options.max_width - INDENT):
            yield _line(" " * INDENT, (line, self.style))


@dataclass(frozen=True)
class Facts:
    """Facts, one per line. The last column wraps; if there is no room for it, the row continues below."""

    rows: Sequence[Sequence[str]]
    indent: int = INDENT

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        widths = [max(map(cell_len, column)) for column in list(zip(*self.rows, strict=True))[:-1]]
        start = self.indent + sum(width + GAP for width in widths)
        room = options.max_width - start
        is_short = start < self.indent + 2 * INDENT  # the next line would have no more room
        for *before, last in self.rows:
            if not (is_short or _fits(last, room)):
                yield from self._below(before, last, options.max_width)
                continue
            name, *others = (_padded(cell, width) + " " * GAP for cell, width in zip(before, widths, strict=True))
            for place, line in enumerate(wrapped(last, room)):
                beside = ((name, "dim"), "".join(others) + line) if place == 0 else (" " * (start - self.indent), line)
                yield _line(" " * self.indent, *beside)

    def _below(self, before: Sequence[str], last: str, columns: int) -> Iterator[Text]:
        name, *others = before
        yield _line(" " * self.indent, (name, "dim"))
        deeper = self.indent + INDENT
        for cell in (*others, last):
            for line in wrapped(cell, columns - deeper) if cell else ():
                yield _line(" " * deeper, line)


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    head: str
    """With line feeds where it may be broken."""
    cells: Sequence[str]
    is_right: bool = False
    wraps: bool = False
    is_name: bool = False
    """Whether cells are names that may be broken after a hyphen between letters."""

    @property
    def natural(self) -> int:
        """As many columns of the terminal as its widest cell has."""
        return max(map(cell_len, (*self.head.split("\n"), *self.cells)))

    @property
    def least(self) -> int:
        """As many columns of the terminal as it needs for no word to be broken and for text to be readable."""
        if not (self.wraps or self.is_name):
            return self.natural
        whole = [self.head.split("\n"), *map(self.words, self.cells)]
        longest = max(cell_len(word) for words in whole for word in words)
        return max(longest, min(LEAST, self.natural)) if self.wraps else longest

    def words(self, cell: str) -> list[str]:
        """The words, which are never broken."""
        return re.split(r"(?<=[^\W\d]-)(?=[^\W\d])| ", cell) if self.is_name else cell.split() or [""]

    def lines(self, cell: str, width: int) -> list[str]:
        """A cell on lines of this width."""
        if cell_len(cell) <= width:
            return [cell]
        return joined(self.words(cell), width, between="" if self.is_name else " ")


@dataclass(frozen=True)
class Tabular:
    """Columns side by side under their heads, or stacked where there is no room for that."""

    columns: Sequence[Column]
    gap: int = GAP

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text | Facts]:
        widths = self.widths(options.max_width)
        yield _line("")
        yield from self._stacked(options.max_width) if widths is None else self._side_by_side(widths)
        yield _line("")

    def widths(self, room: int) -> list[int] | None:
        """How wide the columns are in so much room; None if they do not fit without breaking words."""
        widths = [column.least for column in self.columns]
        left = room - self.gap * len(widths) - sum(widths)
        if left < 0:
            return None
        while left and (narrow := [k for k, column in enumerate(self.columns) if widths[k] < column.natural]):
            for k in narrow[:left]:
                widths[k] += 1
            left -= min(left, len(narrow))
        return widths

    def _side_by_side(self, widths: Sequence[int]) -> Iterator[Text]:
        heads = [column.head.split("\n") for column in self.columns]
        tallest = max(map(len, heads))
        yield from self._row([[""] * (tallest - len(head)) + head for head in heads], widths)
        yield _line(" " * self.gap, "─" * (sum(widths) + self.gap * (len(widths) - 1)))
        for row in zip(*(column.cells for column in self.columns), strict=True):
            cells = zip(self.columns, row, widths, strict=True)
            yield from self._row([column.lines(cell, width) for column, cell, width in cells], widths)

    def _row(self, cells: Sequence[list[str]], widths: Sequence[int]) -> Iterator[Text]:
        for place in range(max(map(len, cells))):
            line = ""
            for column, lines, width in zip(self.columns, cells, widths, strict=True):
                text = lines[place] if place < len(lines) else ""
                line += " " * self.gap + _padded(text, width, column.is_right)
            yield _line(line.rstrip())

    def _stacked(self, room: int) -> Iterator[Text | Facts]:
        heads = [column.head.replace("-\n", "").replace("\n", " ") for column in self.columns]
        for row in zip(*(column.cells for column in self.columns), strict=True):
            for line in wrapped(f"{heads[0]} {row[0]}", room):
                yield _line((line, "bold"))
            cells = [(head, cell) for head, cell in zip(heads[1:], row[1:], strict=True) if cell]
            if cells:
                yield Facts(cells)


def wrapped(text: str, width: int) -> list[str]:
    """The text on lines of this width; a word that is wider has a line of its own.

    >>> wrapped("no more than 1234567890", 8)
    ['no more', 'than', '1234567890']
    """
    return joined(text.split(), width)


def joined(words: Sequence[str], width: int, between: str = " ") -> list[str]:
    """The words on lines of this width."""
    lines = [""]
    for word in words:
        longer = f"{lines[-1]}{between}{word}" if lines[-1] else word
        if not lines[-1] or cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _fits(text: str, room: int) -> bool:
    words = max(map(cell_len, text.split()), default=0)
    return words <= room and (room >= LEAST or cell_len(text) <= room)


def _padded(text: str, width: int, is_right: bool = False) -> str:
    blanks = " " * (width - cell_len(text))
    return blanks + text if is_right else text + blanks


def _line(*parts: str | tuple[str, str]) -> Text:
    """One line that is neither wrapped nor cut."""
    line = Text.assemble(*parts, no_wrap=True, overflow="ignore")
    line.rstrip()
    return line
