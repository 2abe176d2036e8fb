"""Pictures of what was copied: by depth, and by capacity."""

from collections.abc import Sequence
from pathlib import Path

from anyformer.pictures import (
    AMBER,
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PALE,
    PINK,
    PURPLE,
    SKY,
    SMALL,
    in_house_style,
    new_figure,
    save_picture,
    show_grid,
)
from anyformer.reports.copying.outcomes import Copied, by_name

KINDS = {
    "dense": (INK, "o"),
    "strided": (BLUE, "s"),
    "strided-off": (SKY, "D"),
    "fixed": (ORANGE, "^"),
    "star": (AMBER, "*"),
    "star-window": (PURPLE, "P"),
    "random": (GREEN, "X"),
    "window": (PINK, "v"),
}
BESIDE = 0.012
"""How far kinds of patterns stand apart at the same capacity, as a share of the picture."""
DASHES = {None: "-", "union": "-", "sequential": "--", "multihead": ":"}


@in_house_style
def draw_depths(made: Sequence[Copied], place: Path) -> Path:
    """Symbols copied against the number of layers, a line for each pattern, a point for each seed."""
    figure = new_figure(3.8)
    panel = figure.subplots()
    for name, rows in by_name(made).items():
        first = next(iter(rows.values()))
        colour, marker = KINDS[first.kind]
        look = {"color": colour, "marker": marker, "linestyle": DASHES[first.arrangement]}
        panel.plot(list(rows), [100 * one.accuracy for one in rows.values()], **look, label=name.replace("-", " "))
        for one in rows.values():
            panel.plot([one.layers] * len(one.symbols), [100 * value for value in one.symbols], ".", color=colour, ms=3)
    panel.set(xlabel="layers", ylabel="symbols copied (%)", ylim=(-3, 103), xticks=sorted({one.layers for one in made}))
    show_grid(panel)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper")
    described = "Share of symbols copied against the number of layers, a line for each sparsity pattern."
    return save_picture(figure, place, title="Copying with sparse attention", description=described)


@in_house_style
def draw_capacity(made: Sequence[Copied], symbols: int, length: int, place: Path) -> Path:
    """Symbols copied against the capacity, all patterns, depths and seeds; hollow if not all symbols are in reach.

    Kinds of patterns stand a little beside each other, or most would be hidden behind the last one.
    """
    figure = new_figure(3.8)
    panel = figure.subplots()
    panel.plot([0, length], [0, 100], color=FAINT, linewidth=1.2, zorder=0)
    panel.annotate("one symbol a route", (0.55 * length, 52), color=PALE, fontsize=SMALL, ha="left", va="top")
    kinds = list(dict.fromkeys(one.kind for one in made))
    for number, kind in enumerate(kinds):
        colour, marker = KINDS[kind]
        aside = BESIDE * length * (number - (len(kinds) - 1) / 2)
        for one in (one for one in made if one.kind == kind):
            look = {"color": colour, "marker": marker, "fillstyle": "full" if one.within_reach == 1 else "none"}
            x = [one.capacity + aside] * len(one.symbols)
            panel.plot(x, [100 * value for value in one.symbols], linestyle="", **look)
        panel.plot([], [], linestyle="", color=colour, marker=marker, label=kind.replace("-", " "))
    panel.plot([], [], linestyle="", color=PALE, marker="o", fillstyle="none", label="not all in reach")
    panel.axhline(100 / symbols, color=PALE, linewidth=1, linestyle=":", zorder=0)
    panel.annotate("guessing", (0.75 * length, 100 / symbols), fontsize=SMALL, ha="right", va="bottom")
    routes = f"capacity: symbols of {length} with a route of their own"
    panel.set(xlabel=routes, ylabel="symbols copied (%)", ylim=(-3, 103))
    show_grid(panel)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper")
    described = "Share of symbols copied against the capacity of the pattern at that depth, a point for each run."
    return save_picture(figure, place, title="Capacity and copying", description=described)
