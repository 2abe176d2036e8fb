"""A picture of what was recalled: by content on the left, by place on the right, against the number of pairs."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from anyformer.pictures import (
    AMBER,
    BLUE,
    GREEN,
    GROUND,
    INK,
    ORANGE,
    PALE,
    PINK,
    PURPLE,
    SKY,
    SMALL,
    Look,
    in_house_style,
    new_figure,
    plain,
    save_picture,
    show_grid,
)
from anyformer.reports.recall.outcomes import Recalled
from anyformer.reports.recall.tables import QUESTIONS

LOOKS = {
    "hybrid": Look(PURPLE, "P"),
    "attention": Look(BLUE, "o"),
    "sparse-attention": Look(SKY, "v"),
    "convolution": Look(ORANGE, "s"),
    "plain-convolution": Look(AMBER, "D"),
    "bilinear": Look(GREEN, "^"),
    "average": Look(PINK, "X"),
    "fourier": Look(PALE, "*"),
}
OTHER = Look(INK, "h")
"""For mixers that a user brings."""
ASIDE = 0.015
"""How far mixers stand beside each other, as a share of a doubling: many have the same value."""


@in_house_style
def draw_shares(made: Sequence[Recalled], chance: float, place: Path) -> Path:
    """Queries answered against the number of pairs: a line for each mixer, a point for each seed."""
    figure = new_figure(3.4)
    panels = figure.subplots(1, 2, sharey=True)
    names = list(dict.fromkeys(one.name for one in made))
    for (question, title), panel in zip(QUESTIONS.items(), panels, strict=True):
        mine = {one.name: one for one in made if one.question == question}
        numbers = sorted({pairs for one in mine.values() for pairs in one.pairs})
        for place_, name in enumerate(names):
            if name in mine:
                _draw(panel, mine[name], 2 ** (ASIDE * (place_ - (len(names) - 1) / 2)))
        panel.set_xscale("log", base=2)
        panel.set(title=title, xlabel="pairs in a sequence", ylim=(-3, 104))
        panel.set_xticks(numbers, labels=[str(number) for number in numbers])
        panel.axhline(100 * chance, color=PALE, linewidth=1, linestyle=":", zorder=0)
        show_grid(panel)
    _draw_line(panels[0], {pairs: 100 / pairs for one in made for pairs in one.pairs}, chance)
    panels[0].set_ylabel("queries answered (%)")
    entries = {name: line for panel in panels for line, name in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(entries.values(), entries, loc="outside lower center", ncols=4)
    described = (
        "Share of queries answered against the number of pairs, for questions by content and by place, a line for each"
        " mixer, with the line that is reached without comparing keys."
    )
    return save_picture(figure, place, title="Associative recall", description=described)


def _draw(panel: object, one: Recalled, aside: float) -> None:
    look = LOOKS.get(one.name, OTHER)
    places = [pairs * aside for pairs in one.pairs]
    means = [100 * statistics.fmean(shares) for shares in one.shares]
    panel.plot(places, means, **look.of_line(plain(one.name, 24)))  # type: ignore[attr-defined]
    for place, shares in zip(places, one.shares, strict=True):
        panel.plot([place] * len(shares), [100 * share for share in shares], ".", color=look.colour, ms=3)  # type: ignore[attr-defined]


def _draw_line(panel: object, line: Mapping[int, float], chance: float) -> None:
    numbers = sorted(line)
    panel.plot(numbers, [line[number] for number in numbers], color=INK, linewidth=1.2, linestyle="--", zorder=5)  # type: ignore[attr-defined]
    told = {"fontsize": SMALL, "color": INK, "bbox": GROUND}
    panel.annotate("without comparing keys", (numbers[0], line[numbers[0]] + 5), ha="left", va="bottom", **told)  # type: ignore[attr-defined]
    panel.annotate("any value at all", (numbers[0], 100 * chance + 1), ha="left", va="bottom", fontsize=SMALL)  # type: ignore[attr-defined]
