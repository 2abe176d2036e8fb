"""Contexts over the layers of a model, and models side by side, as pictures."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from anyformer.contextuality import ContextReport, LayerContexts
from anyformer.errors import ContextualityError
from anyformer.pictures import (
    BLUE,
    GREEN,
    LOOKS,
    ORANGE,
    PALE,
    SUFFIXES,
    colour_map,
    in_house_style,
    new_figure,
    plain,
    require_matplotlib,
    save_picture,
    show_grid,
)
from anyformer.reports.contextuality.view import gap_name

KINDS: Final = (
    ("within", "within a sequence", GREEN, "^"),
    ("same_token", "same token", BLUE, "o"),
    ("any_tokens", "any two tokens", ORANGE, "s"),
)


def check_picture(place: Path) -> None:
    """Refuse a place that no picture can be written to, before anything is measured."""
    if place.suffix.lower() not in SUFFIXES:
        raise ContextualityError(f"a picture must end in one of {', '.join(SUFFIXES)}; got {place.name!r}.")
    if not place.parent.is_dir():
        raise ContextualityError(f"the folder of {place} must exist; it does not. Make it, or choose another place.")


def draw_contexts(found: ContextReport, place: str | Path) -> Path:
    """Draw a report into a .svg, .png or .pdf file: smallest distances, their distribution, similarity, sensitivity."""
    place = Path(place)
    check_picture(place)
    described = (
        "Over the layers: the smallest distances between vectors that must be apart, the distribution of the nearest "
        "distance of the same token, similarities corrected for anisotropy, and how far vectors move by distance."
    )
    return save_picture(contexts_picture(found), place, title=f"Contexts in {found.model}", description=described)


@in_house_style
def contexts_picture(found: ContextReport) -> Any:
    """The same as a Matplotlib figure."""
    figure = new_figure(5.6, 7.6, title=f"{found.model}: {found.sequences:,} contexts, {found.places:,} places")
    panels = figure.subplots(2, 2)
    _distances(panels[0, 0], found.layers)
    _distribution(panels[0, 1], found.layers)
    _similarities(panels[1, 0], found.layers)
    _movements(panels[1, 1], found)
    return figure


def _relative(value: float | None, layer: LayerContexts) -> float | None:
    """In units of the spread."""
    return value / layer.spread if value is not None and layer.spread > 0 else value


@dataclass(frozen=True)
class _Logarithm:
    """A logarithmic scale with a place for 0, below the smallest number that is not 0."""

    nothing: float

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "_Logarithm":
        above = [value for value in values if value]
        return cls(10.0 ** (math.floor(math.log10(min(above))) - 1) if above else 0.1)

    def at(self, value: float) -> float:
        return max(value, self.nothing)

    def label(self, panel: Any) -> None:
        """Ticks at powers of ten, and a 0 for nothing."""
        panel.set_yscale("log")
        panel.yaxis.set_minor_locator(require_matplotlib("matplotlib.ticker").NullLocator())
        panel.yaxis.set_major_formatter(lambda value, _: self._name(value))

    def _name(self, value: float) -> str:
        if value <= self.nothing * 1.01:
            return "0" if value >= self.nothing * 0.99 else ""
        power = round(math.log10(value))
        return f"$10^{{{power}}}$" if power else "1"


def _layer_axis(panel: Any, layers: Sequence[LayerContexts]) -> None:
    panel.set_xlabel("layer")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set_xlim(-0.3, len(layers) - 0.7)


def _distances(panel: Any, layers: Sequence[LayerContexts]) -> None:
    lines = {kind: [_relative(getattr(one, kind).distance, one) for one in layers] for kind, *_ in KINDS}
    scale = _Logarithm.of(value for values in lines.values() for value in values)
    for kind, label, colour, marker in KINDS:
        known = [(k, scale.at(value)) for k, value in enumerate(lines[kind]) if value is not None]
        if known:
            panel.plot(*zip(*known, strict=True), color=colour, marker=marker, label=label)
    panel.set(title="Smallest distance", ylabel="distance / spread")
    scale.label(panel)
    _layer_axis(panel, layers)
    show_grid(panel)
    panel.legend()


def _distribution(panel: Any, layers: Sequence[LayerContexts]) -> None:
    """The nearest distance of the same token: median, quartiles, and 1 % to 95 %."""
    rows = [(k, one) for k, one in enumerate(layers) if one.same_token.quantiles]
    if rows:
        numbers = [k for k, _ in rows]

        every = [_relative(value, one) for _, one in rows for value in one.same_token.quantiles]
        scale = _Logarithm.of(every)

        def at(index: int) -> list[float]:
            return [scale.at(_relative(one.same_token.quantiles[index], one) or 0.0) for _, one in rows]

        panel.fill_between(numbers, at(1), at(6), color=BLUE, alpha=0.15, linewidth=0, label="1 % to 95 %")
        panel.fill_between(numbers, at(3), at(5), color=BLUE, alpha=0.3, linewidth=0, label="quartiles")
        panel.plot(numbers, at(4), color=BLUE, marker="o", label="median")
        panel.legend()
        scale.label(panel)
    panel.set(title="Nearest of the same token", ylabel="distance / spread")
    _layer_axis(panel, layers)
    show_grid(panel)


def _similarities(panel: Any, layers: Sequence[LayerContexts]) -> None:
    lines = {
        "self-similarity": [one.similarity.self_similarity for one in layers],
        "within sequences": [one.similarity.within_sequences for one in layers],
        "explained variance": [one.similarity.explained_variance for one in layers],
    }
    for look, (label, values) in zip(LOOKS, lines.items(), strict=False):
        known = [(k, value) for k, value in enumerate(values) if value is not None]
        if known:
            panel.plot(*zip(*known, strict=True), **look.of_line(label))
    panel.plot([one.similarity.anisotropy for one in layers], color=PALE, linestyle="--", label="anisotropy")
    panel.set(title="Similarity less anisotropy")
    _layer_axis(panel, layers)
    show_grid(panel)
    panel.legend()


def _movements(panel: Any, found: ContextReport) -> None:
    """One line a layer, for the fewest changes; what does not move is not drawn."""
    panel.set(title="Movement when one token changes", ylabel="movement / spread", xlabel="tokens away")
    if not found.sensitivity:
        return
    one = found.sensitivity[0]
    colours = colour_map()
    for k, moved in enumerate(one.moved):
        points = [(place, value) for place, value in enumerate(moved) if value > 0]
        if points:
            shade = colours(0.9 * k / max(len(one.moved) - 1, 1))
            ends = k in (0, len(one.moved) - 1) or len(one.moved) <= 8
            label = plain(found.layers[k].name, 24) if ends else None
            panel.plot(*zip(*points, strict=True), color=shade, marker=".", label=label)
    panel.set_xticks(range(len(one.gaps)), [gap_name(one.gaps, k) for k in range(len(one.gaps))])
    panel.set_yscale("log")
    show_grid(panel)
    panel.legend(loc="upper right", ncols=2)


def draw_side_by_side(reports: Mapping[str, ContextReport], place: str | Path) -> Path:
    """Draw several models into one picture: which keep contexts apart, and how far a changed token is felt."""
    place = Path(place)
    check_picture(place)
    described = (
        "For each model: the smallest distance of the same token in two contexts over the layers, and how far vectors "
        "of the last layer move by their distance to one changed token."
    )
    title = "Which models keep contexts apart"
    return save_picture(side_by_side_picture(reports), place, title=title, description=described)


@in_house_style
def side_by_side_picture(reports: Mapping[str, ContextReport]) -> Any:
    """The same as a Matplotlib figure."""
    if not reports:
        raise ContextualityError("a picture must have something to show; got no reports.")
    figure = new_figure(3.6, 7.6)
    apart, reach = figure.subplots(1, 2)
    lines = {
        name: [_relative(one.same_token.distance, one) or 0.0 for one in found.layers]
        for name, found in reports.items()
    }
    scale = _Logarithm.of(value for values in lines.values() for value in values)
    for index, (name, found) in enumerate(reports.items()):
        look = LOOKS[index % len(LOOKS)].of_line(plain(name, 32))
        dashed = {"linestyle": "--"} if index >= len(LOOKS) else {}
        apart.plot(range(len(found.layers)), [scale.at(value) for value in lines[name]], **look, **dashed)
        if found.sensitivity:
            one = found.sensitivity[0]
            points = [(k, value) for k, value in enumerate(one.moved[-1]) if value > 0]
            if points:
                reach.plot(*zip(*points, strict=True), **look, **dashed)
    most = max(reports.values(), key=lambda found: len(found.sensitivity[0].gaps) if found.sensitivity else 0)
    apart.set(title="Same token, two contexts", ylabel="smallest distance / spread", xlabel="layer")
    scale.label(apart)
    apart.xaxis.get_major_locator().set_params(integer=True)
    reach.set(title="Last layer, one token changed", ylabel="movement / spread", yscale="log", xlabel="tokens away")
    if most.sensitivity:
        gaps = most.sensitivity[0].gaps
        reach.set_xticks(range(len(gaps)), [gap_name(gaps, k) for k in range(len(gaps))])
    for panel in (apart, reach):
        show_grid(panel)
    figure.legend(*apart.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
