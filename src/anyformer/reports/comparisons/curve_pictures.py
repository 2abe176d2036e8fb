"""A curve as a picture: error, size and time against the tolerance."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from anyformer.comparison import Attempt
from anyformer.construction.request import Request
from anyformer.pictures import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PALE,
    PURPLE,
    in_house_style,
    new_figure,
    require_matplotlib,
    save_picture,
    show_grid,
)
from anyformer.reports.comparisons.comparison import title
from anyformer.reports.comparisons.curves import curve_data

HEIGHT, WIDE = 3.4, 7.6

Points: TypeAlias = Sequence[dict[str, Any]]
"""As `curve_data` has them."""


def write_picture(request: Request, tried: Sequence[Attempt], place: str | Path) -> Path:
    """Draw the curve into a .svg, .png or .pdf file, which is replaced in one step or not at all.

    Args:
        request: what was asked for.
        tried: at least one of them certified.
        place: the file; its suffix says which format.

    Returns:
        The place.
    """
    described = "Certified and measured error, layers of the network and seconds to build it, against the tolerance."
    return save_picture(picture(request, tried), Path(place), title=title(request), description=described)


@in_house_style
def picture(request: Request, tried: Sequence[Attempt]) -> Any:
    """A Matplotlib figure of two panels over the tolerance: errors with the size of the network, and the time."""
    figure = new_figure(HEIGHT, WIDE, title(request))
    figure.get_layout_engine().set(wspace=0.06)
    errors, times = figure.subplots(1, 2, sharex=True)
    layers = errors.twinx()
    points = curve_data(request, tried, None)["points"]
    built = [point for point in points if point["certified_error"] is not None]
    _draw_errors(errors, built, request.p)
    _draw_layers(layers, built)
    _draw_times(times, built)
    for panel in (errors, times):
        show_grid(panel)
        _mark_missing(panel, points)
        _label_tolerances(panel, points)
    for panel in (errors, layers, times):
        _label_powers(panel.yaxis)
    _draw_legend(figure, (errors, layers, times))
    return figure


def _draw_errors(panel: Any, built: Points, p: float) -> None:
    x = [point["epsilon"] for point in built]
    panel.set(xscale="log", yscale="log", title="error and size", ylabel=f"error in $L^{{{p:g}}}$")
    panel.plot(x, x, color=INK, linewidth=0.9, linestyle="--", label="error = ε")
    panel.plot(x, [point["certified_error"] for point in built], color=BLUE, marker="o", label="certified error")
    panel.plot(x, [point["measured_error"] for point in built], color=GREEN, marker="s", label="measured error")


def _draw_layers(right: Any, built: Points) -> None:
    """Layers, on an axis of their own at the right in its colour."""
    right.set_yscale("log")
    right.spines["right"].set_visible(True)
    right.set_ylabel("layers", color=ORANGE)
    right.tick_params(axis="y", which="both", colors=ORANGE)
    x = [point["epsilon"] for point in built]
    right.plot(x, [point["layers"] for point in built], color=ORANGE, marker="^", linestyle=":", label="layers (right)")


def _draw_times(panel: Any, built: Points) -> None:
    x = [point["epsilon"] for point in built]
    panel.set(xscale="log", yscale="log", title="time to build and prove", ylabel="seconds")
    panel.plot(x, [point["build_seconds"] for point in built], color=PURPLE, marker="D", label="seconds")


def _draw_legend(figure: Any, panels: Iterable[Any]) -> None:
    """One legend for all, below; what stands in several panels is named once."""
    named: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=len(named))


def _mark_missing(panel: Any, points: Points) -> None:
    """A grey line where nothing was certified."""
    missing = [point["epsilon"] for point in points if point["certified_error"] is None]
    for place, epsilon in enumerate(missing):
        panel.axvline(epsilon, color=PALE, linestyle=":", label="nothing certified" if place == 0 else None)


def _label_tolerances(panel: Any, points: Points) -> None:
    """The tolerances themselves as ticks, as many as are readable."""
    shown = [point["epsilon"] for point in points][:: max(1, -(-len(points) // 8))]
    panel.set_xticks(shown, labels=[f"{one:.2g}" for one in shown])
    panel.set_xticks([], minor=True)
    panel.set_xlabel("tolerance ε")


def _label_powers(axis: Any) -> None:
    """Plain numbers at 1, 2 and 5 times the powers of ten, only the powers where there are many."""
    low, high = axis.get_view_interval()
    ticks = require_matplotlib("matplotlib.ticker")
    axis.set_major_locator(ticks.LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
    axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axis.set_minor_formatter(ticks.NullFormatter())
