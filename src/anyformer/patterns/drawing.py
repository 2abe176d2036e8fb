"""A pattern as a picture: which token sees which in each layer, after how many hops, and γ as a path."""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from anyformer.errors import PatternError
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.universality.checker import check_universality
from anyformer.patterns.universality.conditions import TokenPath
from anyformer.patterns.universality.hops import first_hops
from anyformer.pictures import (
    BLUE,
    ORANGE,
    PAPER,
    SMALL,
    SUFFIXES,
    bare,
    colour_map,
    framed,
    in_house_style,
    new_figure,
    plain,
    save_picture,
)

MOST_TOKENS = 256
_MOST_LAYERS = 4
_MOST_LISTS = 4
_PANEL = 2.5


def draw(pattern: PatternFamily | SparsityPattern, place: str | Path, tokens: int | None = None) -> Path:
    """Draw a pattern into a .svg, .png or .pdf file, which is replaced in one step or not at all.

    Args:
        pattern: a family, or a pattern of one length.
        place: the file; its suffix says which format.
        tokens: the length, at most 256; not needed with a pattern of one length.

    Returns:
        The place.
    """
    place = Path(place)
    if place.suffix.lower() not in SUFFIXES:
        raise PatternError(f"a picture must end in one of {', '.join(SUFFIXES)}; got {place.name!r}.")
    described = (
        "Which token sees which in each layer, list by list, after how many layers each is seen, and a path through all"
        " tokens."
    )
    return save_picture(picture(pattern, tokens), place, title=f"Sparsity pattern {pattern}", description=described)


@in_house_style
def picture(pattern: PatternFamily | SparsityPattern, tokens: int | None = None) -> Any:
    """A Matplotlib figure: a panel for each of the first layers, one for the hops, one for γ.

    Where a layer has several lists (MULTIHEAD), each has its panel, one below the other.
    """
    report = check_universality(pattern, tokens)
    if report.tokens > MOST_TOKENS:
        raise PatternError(
            f"a picture must have at most {MOST_TOKENS} tokens; got {report.tokens}. Draw a shorter one."
        )
    built = pattern if isinstance(pattern, SparsityPattern) else pattern.at(report.tokens)
    layers = built.layers[:_MOST_LAYERS]
    rows = min(_MOST_LISTS, max(map(len, layers)))
    title = f"{report.pattern}, {report.tokens} tokens"
    figure = new_figure((_PANEL + 0.3) * rows + 0.5, _PANEL * (len(layers) + 2) + 0.6)
    figure.suptitle(f"{plain(title)}\n{plain(report.verdict.value)}", x=0.01, ha="left")
    panels = figure.subplots(rows, len(layers) + 2, squeeze=False)
    for layer, lists in enumerate(layers):
        for number, panel in enumerate(panels[:, layer]):
            if number < len(lists):
                _draw_list(panel, lists[number], _name_of(built, layer, number))
            else:
                panel.set_visible(False)
    for panel in panels[1:, -2:].flat:
        panel.set_visible(False)
    _draw_hops(figure, panels[0, -2], built, report.reach.hops)
    _draw_path(panels[0, -1], report.tokens, report.path)
    return figure


def _name_of(pattern: SparsityPattern, layer: int, number: int) -> str:
    """Layers and lists are counted from 0, as in reports and in code; heads of several lists take turns with them."""
    lists = len(pattern.layers[layer])
    of_layer = f"layer {layer} of {pattern.period}"
    return f"{of_layer}: who sees whom" if lists == 1 else f"{of_layer}, list {number} of {lists}"


def _draw_list(panel: Any, seen: Neighbours, title: str) -> None:
    from matplotlib.colors import ListedColormap

    dense = np.zeros((seen.tokens, seen.tokens))
    dense[seen.queries(), seen.indices] = 1
    panel.imshow(dense, cmap=ListedColormap([PAPER, BLUE]), vmin=0, vmax=1)
    _label(panel, seen.tokens, title, "key: is looked at", "query: looks")


def _draw_hops(figure: Any, panel: Any, pattern: SparsityPattern, hops: int | None) -> None:
    """After how many layers an output first depends on an input; white where it does not."""
    first = first_hops(pattern, hops or 2 * pattern.period * pattern.tokens)
    largest = max(1, int(first.max()))
    colours = colour_map("viridis_r").resampled(min(largest, 256)).with_extremes(bad=PAPER)
    shown = np.ma.masked_equal(first, 0)
    image = panel.imshow(shown, cmap=colours, vmin=0.5, vmax=largest + 0.5)
    ticks = sorted({1, largest, *np.linspace(1, largest, min(largest, 6)).round().astype(int).tolist()})
    figure.colorbar(image, ax=panel, shrink=0.75, ticks=ticks)
    title = f"layers until seen, at most {hops}" if hops else "layers until seen; white: never"
    _label(panel, pattern.tokens, title, "input", "output")


def _draw_path(panel: Any, tokens: int, path: TokenPath) -> None:
    """The tokens on a circle, from the top clockwise; γ from the full orange dot to the empty one, or why not."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(tokens) / tokens
    x, y = np.cos(angles), np.sin(angles)
    bare(panel)
    panel.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal")
    panel.set_title("path γ of the proof" if path.gamma else f"path γ: {path.answer.value}")
    if path.gamma is None:
        panel.set_xlabel("\n".join(textwrap.wrap(str(path.witness or path.reason), 40)[:4]), fontsize=SMALL)
    else:
        order = list(path.gamma)
        panel.plot(x[order], y[order], color=ORANGE, linewidth=1, zorder=1)
        for end, inside in ((order[-1], PAPER), (order[0], ORANGE)):
            panel.plot(x[end], y[end], "o", color=ORANGE, markerfacecolor=inside, markersize=9, zorder=1.5)
    panel.scatter(x, y, s=max(2, 400 / tokens), color=BLUE, zorder=2)
    if tokens <= 32:
        for token in range(tokens):
            panel.text(1.15 * x[token], 1.15 * y[token], str(token), ha="center", va="center", fontsize=SMALL - 1)


def _label(panel: Any, tokens: int, title: str, across: str, down: str) -> None:
    ticks = np.unique(np.linspace(0, tokens - 1, min(tokens, 5)).round().astype(int))
    panel.set(xticks=ticks, yticks=ticks)
    panel.set(title=title, xlabel=across, ylabel=down)
    framed(panel)
