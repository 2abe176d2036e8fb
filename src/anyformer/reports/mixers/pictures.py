"""The comparison of mixers as pictures: losses against tokens and time, and accuracies beside simple methods."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anyformer.pictures import (
    AMBER,
    BLUE,
    GREEN,
    INK,
    LOOKS,
    ORANGE,
    PALE,
    PINK,
    SMALL,
    in_house_style,
    new_figure,
    plain,
    save_picture,
    show_grid,
)
from anyformer.reports.mixers.outcomes import BASELINE, PRETRAINED, LearnedEntailment, LearnedWords

COLOURS = {"average": AMBER, "bilinear": GREEN, "convolution": ORANGE, "attention": BLUE, "hybrid-1": PINK}
OTHERS = ("#A05195", "#6A3D9A", "#3F1D6B", "#56B4E9")


@in_house_style
def draw_curves(learned: Sequence[LearnedWords], tokens_a_step: int, unigram: float, place: Path) -> Path:
    """Loss on held-out words by tokens seen, and closer up by the processor's time; a line a seed."""
    figure = new_figure(3.4, 7.6)
    whole, close = figure.subplots(1, 2)
    ends = [result.curve[-1][1] for one in learned for result in one.results]
    for one in learned:
        # Another start of the same mixers has their colour.
        number = next(place for place, other in enumerate(learned) if other.entrant.mixers == one.entrant.mixers)
        style = "--" if learned[number] is not one else "-"
        look = {"color": _colour(learned[number].name, number), "marker": LOOKS[number % len(LOOKS)].marker}
        for seed, result in enumerate(one.results):
            steps, heights = zip(*result.curve, strict=True)
            lines = {"linewidth": 1.1, "linestyle": style, "markevery": max(1, len(steps) // 6), **look}
            label = plain(one.name) if seed == 0 else None
            whole.plot([step * tokens_a_step / 1e6 for step in steps], heights, label=label, **lines)
            close.plot([step * one.milliseconds / 6e4 for step in steps], heights, **lines)
    whole.set(xlabel="million tokens seen", ylabel="loss on held-out words (nats)")
    whole.set(ylim=(min(ends) - 0.15, max(unigram, *ends) + 0.3))
    close.set(xlabel="minutes of processor time, closer up", ylim=(min(ends) - 0.05, min(ends) + 1.0))
    whole.axhline(unigram, color=PALE, linewidth=1, linestyle=":")
    for panel in (whole, close):
        show_grid(panel)
    where = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom", "fontsize": SMALL}
    whole.annotate("word frequencies alone", (0.99, unigram), **where)
    whole.legend()
    described = "Loss on held-out words against tokens and against processor time, a line for each mixer and seed."
    return save_picture(figure, place, title="Pre-training with different token mixers", description=described)


@in_house_style
def draw_entailment(systems: Sequence[LearnedEntailment], place: Path) -> Path:
    """Accuracies on the test set: a dot a seed, and the interval of each system."""
    figure = new_figure(0.32 * len(systems) + 0.9)
    panel = figure.subplots()
    for row, one in enumerate(systems):
        number = 0 if one.what == BASELINE else row
        colour = INK if one.what == BASELINE else _colour(one.system, number)
        interval = one.accuracy()
        low, high = (100 * max(0.0, min(1.0, end)) for end in (interval.low, interval.high))
        panel.plot([low, high], [row, row], color=colour, linewidth=1.4)
        filled = colour if one.what == PRETRAINED or one.what == BASELINE else "white"
        seeds = [100 * float(share) for share in one.right.mean(axis=1)]
        panel.plot(seeds, [row] * len(seeds), "o", color=colour, markerfacecolor=filled, markersize=5)
    panel.set(xlabel="accuracy on the test set (%)", yticks=range(len(systems)))
    panel.set_yticklabels([plain(one.name) for one in systems])
    panel.invert_yaxis()
    show_grid(panel, "x")
    described = "Accuracy of each system on entailment, a dot for each seed, with 95 % intervals."
    return save_picture(figure, place, title="Entailment with different token mixers", description=described)


def _colour(name: str, number: int) -> Any:
    return COLOURS.get(name, OTHERS[number % len(OTHERS)])
