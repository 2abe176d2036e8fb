"""Tables of what was recalled."""

import math
import statistics
from collections.abc import Sequence

from anyformer.reports.recall.outcomes import Recalled, interval, verdict

QUESTIONS = {"content": "by content", "place": "by place"}


def markdown_table(made: Sequence[Recalled], question: str, judged: int) -> str:
    """Markdown: queries answered (%) by mixer and number of pairs, each seed, and what that shows."""
    mine = [one for one in made if one.question == question]
    numbers = mine[0].pairs if mine else ()
    heads = ("mixer", "parameters", "rate", "seeds", *(f"{pairs} pairs" for pairs in numbers), "with most pairs")
    rows = [row_of(one, judged) for one in mine]
    line = ("*without matching*", "", "", "", *(f"{100 / pairs:.1f}" for pairs in numbers), "")
    lines = [heads, ("---",) * len(heads), *rows, *([line] if question == "content" else [])]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def row_of(one: Recalled, judged: int) -> tuple[str, ...]:
    """The cells of a mixer."""
    shown = (percent(shares) for shares in one.shares)
    said = verdict(one.shares[-1], one.pairs[-1], judged).value
    count = len(one.shares[-1])
    return (one.name, f"{one.parameters:,}", f"{one.rate:g}", str(count), *shown, said)


def percent(shares: Sequence[float]) -> str:
    """The mean with its interval, and if seeds differ by more than it shows, each of them.

    >>> percent([1.0, 1.0]), percent([0.5, 0.6, 0.7]), percent([0.25])
    ('100.0', '60.0 ± 24.8 (50.0, 60.0, 70.0)', '25.0')
    """
    each = [f"{100 * share:.1f}" for share in shares]
    mean = f"{100 * statistics.fmean(shares):.1f}"
    if len(set(each)) == 1:
        return mean
    off = interval(shares)
    within = "" if math.isnan(off) else f" ± {100 * off:.1f}"
    return f"{mean}{within} ({', '.join(each)})"
