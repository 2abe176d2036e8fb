"""A design as a picture: what each pattern costs and what it carries, and the cheapest for every capacity."""

from pathlib import Path
from typing import Any

from anyformer.errors import PatternError
from anyformer.patterns.designing.designer import Design, DesignOption
from anyformer.patterns.exchange.notation import in_short
from anyformer.pictures import (
    GROUND,
    INK,
    LOOKS,
    PALE,
    SMALL,
    SUFFIXES,
    in_house_style,
    new_figure,
    plain,
    save_picture,
    show_grid,
)

_HEIGHT = 3.9


def draw_design(found: Design, place: str | Path) -> Path:
    """Draw a design into a .svg, .png or .pdf file, which is replaced in one step or not at all."""
    place = Path(place)
    if place.suffix.lower() not in SUFFIXES:
        raise PatternError(f"a picture must end in one of {', '.join(SUFFIXES)}; got {place.name!r}.")
    described = "What patterns cost in executed pairs, and how many messages they carry between halves of the tokens."
    return save_picture(picture(found), place, title=f"Patterns for {found.tokens} tokens", description=described)


@in_house_style
def picture(found: Design) -> Any:
    """A Matplotlib figure: a mark for each option, told apart by s; a line along the cheapest for each capacity."""
    kind = "causal patterns" if found.causal else "patterns"
    layers = f"{found.layers} layer{'s' * (found.layers > 1)}"
    figure = new_figure(_HEIGHT, title=f"{found.tokens:,} tokens: {kind} that are universal within {layers}")
    panel = figure.subplots()
    for index, hops in enumerate(sorted({option.hops for option in found.options})):
        some = [option for option in found.options if option.hops == hops]
        look = LOOKS[index % len(LOOKS)]
        panel.plot(*_places(found, some), linestyle="none", **look.of_line(f"s = {hops}"))
    panel.step(*_places(found, found.front), where="post", color=PALE, linewidth=0.9, zorder=0, label="cheapest")
    panel.axhline(found.capacity, color=INK, linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)
    _name_the_best(found, panel)
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_formatter("{x:g}")
    panel.set(xlabel="executed pairs a layer and token", ylabel=f"messages that cross in {layers}", ylim=(0, None))
    panel.margins(x=0.08, y=0.12)
    show_grid(panel)
    figure.legend(loc="outside lower center", ncols=len(LOOKS) + 1)
    return figure


def _places(found: Design, options: Any) -> tuple[list[float], list[int]]:
    return [option.executed / found.tokens for option in options], [option.carried for option in options]


def _name_the_best(found: Design, panel: Any) -> None:
    best: DesignOption = found.best
    place = (best.executed / found.tokens, best.carried)
    panel.plot(*place, "o", markersize=11, markerfacecolor="none", color=INK)
    name = plain(in_short(best.family), most=48)
    panel.annotate(name, place, xytext=(9, -12), textcoords="offset points", fontsize=SMALL, bbox=GROUND, zorder=1)
