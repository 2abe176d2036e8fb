"""Target, network and error over the domain: along one input, and over two."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Array
from anyformer.pictures import (
    BLUE,
    DIVERGING,
    FAINT,
    ORANGE,
    SEQUENTIAL,
    colour_map,
    framed,
    in_house_style,
    new_figure,
    show_grid,
)
from anyformer.reports.figures.numbers import LARGEST, about, at_most, norm
from anyformer.reports.figures.points import Entry, along, entry_name, fixed_entries, sample_point
from anyformer.reports.figures.subject import LeftOut, Plate, Subject
from anyformer.runtime.run import run
from anyformer.targets.target import Target

POINTS = 801
# A side of a map has between so many points, as far as the work allows: numbers that the network computes, about.
FEWEST, MOST, WORK = 33, 121, 5e8

# Of the errors on a map, so many have a colour of their own.
SHARE = 0.995

FIRST: Entry = (0, 0)
SECOND: Entry = (1, 0)


@dataclass(frozen=True, eq=False)
class Profile:
    """One entry of the output while one entry of the input moves through the domain."""

    varied: Entry
    output: Entry
    point: Array
    """The sequence, (tokens, width); the varied entry in it does not count."""
    x: Array
    target: Array
    network: Array
    bound: float | None
    """No error is larger, anywhere; None where only a mean error is bounded."""
    stands: str

    @property
    def error(self) -> Array:
        """g − f."""
        return self.network - self.target


@dataclass(frozen=True, eq=False)
class Map:
    """One entry of the output while two entries of the input move; values are (second, first)."""

    varied: tuple[Entry, Entry]
    output: Entry
    point: Array
    x: Array
    y: Array
    target: Array
    network: Array
    bound: float | None
    stands: str

    @property
    def error(self) -> Array:
        """g − f."""
        return self.network - self.target

    @property
    def largest_shown(self) -> float:
        """Where the colours of the error end: at its bound, or where nearly all errors do.

        On the thin walls between a table's cells errors may be large, which would leave no colour for the cells.
        """
        nearly_all = float(np.quantile(np.abs(self.error), SHARE))
        return (nearly_all if self.bound is None else self.bound) or 1.0


def profile_of(subject: Subject, target: Target, points: int = POINTS) -> Profile:
    """Move the first entry; the output shown is the one that the target changes most."""
    width = subject.network.width
    point = sample_point(target.domain, subject.network.tokens, width)
    x = along(target.domain, width, FIRST[1], points)
    sequences = np.repeat(point[None], points, axis=0)
    sequences[:, *FIRST] = x
    wanted, got, output = _values(subject, target, sequences)
    return Profile(FIRST, output, point, x, wanted, got, subject.entry_bound, subject.stands)


def map_of(subject: Subject, target: Target, side: int | None = None) -> Map:
    """Move the first coordinates of the first two tokens."""
    width = subject.network.width
    side = side_for(subject) if side is None else side
    point = sample_point(target.domain, subject.network.tokens, width)
    x, y = (along(target.domain, width, entry[1], side) for entry in (FIRST, SECOND))
    sequences = np.repeat(point[None], side * side, axis=0)
    sequences[:, *FIRST], sequences[:, *SECOND] = np.tile(x, side), np.repeat(y, side)
    wanted, got, output = _values(subject, target, sequences)
    square = (side, side)
    bound = subject.entry_bound
    return Map((FIRST, SECOND), output, point, x, y, wanted.reshape(square), got.reshape(square), bound, subject.stands)


def side_for(subject: Subject) -> int:
    """Points along each side of a map, fewer where the network is large."""
    one = subject.network.tokens * max(subject.network.parameter_count, 1)
    return int(np.clip((WORK / one) ** 0.5, FEWEST, MOST))


def _values(subject: Subject, target: Target, sequences: Array) -> tuple[Array, Array, Entry]:
    network = subject.network
    sequences = network.dtype.rounded(sequences)
    wanted = target(sequences)
    with np.errstate(all="ignore"):
        got = run(network, sequences)
    token, coordinate = np.unravel_index(int(np.ptp(wanted, axis=0).argmax()), wanted.shape[1:])
    output = (int(token), int(coordinate))
    return wanted[:, *output], got[:, *output], output


@in_house_style
def draw_profile(shown: Profile) -> Any:
    """Values above, the error below, with what is proved of it."""
    figure = new_figure(4.2)
    values, errors = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    width = shown.point.shape[1]
    if shown.bound is not None:
        values.fill_between(
            shown.x, shown.target - shown.bound, shown.target + shown.bound, color=ORANGE, alpha=0.3, linewidth=0
        )
    values.plot(shown.x, shown.target, color=FAINT, linewidth=5, solid_capstyle="butt", label="target $f$")
    values.plot(shown.x, shown.network, color=BLUE, label="network $g$")
    values.set_ylabel(f"output: {entry_name(shown.output, width)}")
    _draw_error(errors, shown)
    errors.set(xlabel=f"input: {entry_name(shown.varied, width)}", ylabel="error $g - f$")
    for panel in (values, errors):
        show_grid(panel)
        panel.legend(loc="best", ncols=2)
    values.margins(x=0)
    return figure


def _draw_error(panel: Any, shown: Profile) -> None:
    if shown.bound is not None:
        label = f"{shown.stands}: never beyond ±{at_most(shown.bound)}"
        panel.axhspan(-shown.bound, shown.bound, color=ORANGE, alpha=0.15, linewidth=0)
        for end in (-shown.bound, shown.bound):
            panel.axhline(end, color=ORANGE, linestyle="--", linewidth=1, label=label if end > 0 else None)
        panel.set_ylim(-1.75 * shown.bound, 1.75 * shown.bound)
    panel.plot(shown.x, shown.error, color=BLUE, linewidth=1.1, label="error on this line")


@in_house_style
def draw_map(shown: Map) -> Any:
    """Target, network and error side by side."""
    figure = new_figure(2.9)
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    low, high = float(shown.target.min()), float(shown.target.max())
    most = shown.largest_shown
    named = (("target $f$", shown.target), ("network $g$", shown.network))
    for panel, (title, values) in zip(panels, named, strict=False):
        _draw_values(figure, panel, shown, values, title, SEQUENTIAL, (low, high))
    title = "error $g - f$"
    _draw_values(figure, panels[2], shown, shown.error, title, DIVERGING, (-most, most))
    panels[0].set_ylabel(entry_name(shown.varied[1], shown.point.shape[1]))
    return figure


def _draw_values(
    figure: Any, panel: Any, shown: Map, values: Array, title: str, colours: str, ends: tuple[float, float]
) -> None:
    box = (shown.x[0], shown.x[-1], shown.y[0], shown.y[-1])
    image = panel.imshow(
        values, origin="lower", extent=box, aspect="auto", cmap=colour_map(colours), vmin=ends[0], vmax=ends[1]
    )
    panel.set(title=title, xlabel=entry_name(shown.varied[0], shown.point.shape[1]))
    framed(panel)
    bar = figure.colorbar(image, ax=panel, location="bottom", shrink=0.9, aspect=22, extend=_beyond(values, ends))
    bar.ax.locator_params(nbins=3)


def _beyond(values: Array, ends: tuple[float, float]) -> str:
    """Whether the scale of colours has pointed ends: where values lie beyond it."""
    below, above = bool(values.min() < ends[0]), bool(values.max() > ends[1])
    return {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[below, above]


def plates(subject: Subject) -> list[Plate | LeftOut]:
    """Both, if the target is known."""
    titles = "Target, network and error", "Target, network and error over two inputs"
    if subject.target is None:
        return [LeftOut(title, "the function is not known; name it with --target (target=…)") for title in titles]
    profile, over = profile_of(subject, subject.target), map_of(subject, subject.target)
    if not all(_can_be_drawn(shown) for shown in (profile, over)):
        return [LeftOut(title, "the network or the function overflows on the inputs shown") for title in titles]
    return [
        Plate("function", titles[0], _profile_caption(subject, profile), draw_profile(profile)),
        Plate("map", titles[1], _map_caption(subject, over), draw_map(over)),
    ]


def _can_be_drawn(shown: Profile | Map) -> bool:
    return bool(max(np.abs(shown.target).max(), np.abs(shown.network).max()) < LARGEST)


def _profile_caption(subject: Subject, shown: Profile) -> str:
    width = shown.point.shape[1]
    return (
        f"Output: {entry_name(shown.output, width)}, while the input {entry_name(shown.varied, width)} moves through "
        f"the domain; {fixed_entries(shown.point, [shown.varied])}. The largest error on these {len(shown.x):,} "
        f"inputs is {about(float(np.abs(shown.error).max()))}. {_about_bound(subject)}"
    )


def _map_caption(subject: Subject, shown: Map) -> str:
    width, side = shown.point.shape[1], len(shown.x)
    is_clipped = bool((np.abs(shown.error) > shown.largest_shown).any())
    clipped = f" Colours end where {100 * SHARE:g} % of the errors do." if is_clipped else ""
    first, second = (entry_name(entry, width) for entry in shown.varied)
    return (
        f"Output: {entry_name(shown.output, width)}, while the inputs {first} and {second} move; "
        f"{fixed_entries(shown.point, list(shown.varied))}. {side} × {side} inputs; the largest error on them is "
        f"{about(float(np.abs(shown.error).max()))}.{clipped} {_about_bound(subject)}"
    )


def _about_bound(subject: Subject) -> str:
    bound = at_most(subject.certificate.certified_error)
    if subject.entry_bound is not None:
        return f"The certificate bounds the error of every output at every input of the domain by {bound}."
    return (
        f"The certificate bounds the {norm(subject.certificate.p)} norm of the error over the whole domain by {bound}, "
        f"not the error at single inputs: no band is drawn."
    )
