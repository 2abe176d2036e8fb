"""Tables of what was copied."""

import statistics
from collections.abc import Mapping, Sequence

from anyformer.reports.copying.outcomes import Copied, by_name, ceiling

PAPER = {
    "strided": "100 % by 2 to 4 layers",
    "fixed": "100 % by 2 to 4 layers",
    "star": "below 100 %",
    "random": "below 100 %",
}
"""Paper B at |s| = 127 with 1 to 4 layers, from memory: its exact numbers were not at hand."""


def markdown_table(made: Sequence[Copied]) -> str:
    """Markdown: the symbols copied (%) by pattern and depth, beside what the paper found."""
    depths = sorted({one.layers for one in made})
    heads = ("pattern", "links (%)", *(f"{depth} layer{'s' * (depth > 1)}" for depth in depths), "paper")
    lines = [heads, ("---",) * len(heads), *(row_of(rows, depths) for rows in by_name(made).values())]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def detail_table(made: Sequence[Copied], symbols: int) -> str:
    """Markdown: what each pattern could carry at each depth, and what its models do."""
    heads = ("pattern", "layers", "capacity", "ceiling (%)", "symbols (%)", "sequences (%)", "steps")
    rows = [
        (
            one.name,
            str(one.layers),
            str(one.capacity),
            f"{100 * ceiling(one, symbols):.1f}",
            percent(one.symbols),
            percent(one.sequences),
            ", ".join(f"{steps:,}" for steps in one.steps),
        )
        for one in made
    ]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in (heads, ("---",) * len(heads), *rows))


def row_of(rows: Mapping[int, Copied], depths: Sequence[int]) -> tuple[str, ...]:
    """The cells of a pattern in the table of depths."""
    deepest = rows[max(rows)]
    cells = (percent(rows[depth].symbols) if depth in rows else "" for depth in depths)
    return (deepest.name, f"{100 * deepest.links:.0f}", *cells, PAPER.get(deepest.kind, ""))


def percent(values: Sequence[float]) -> str:
    """The mean, and if seeds differ by more than it shows, each of them.

    >>> percent([1.0, 1.0]), percent([0.5, 0.75])
    ('100.0', '62.5 (50.0, 75.0)')
    """
    shown = [f"{100 * value:.1f}" for value in values]
    mean = f"{100 * statistics.fmean(values):.1f}"
    return mean if len(set(shown)) == 1 else f"{mean} ({', '.join(shown)})"
