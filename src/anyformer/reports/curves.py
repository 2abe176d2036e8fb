"""Error against size and time: one target built for a row of tolerances, as data, as text and as a picture."""

import dataclasses
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType

from anyformer.construction.select import AUTO
from anyformer.pictures import require_matplotlib, save_picture
from anyformer.reports.comparison import (
    Asked,
    Attempt,
    Progress,
    asked_data,
    attempt,
    axes,
    error,
    in_short,
    seconds,
    title,
    whole,
)
from anyformer.reports.terminal import facts, heading, narrow_table, number, visible
from anyformer.targets.checks import check_target

SIZE, DOTS_PER_INCH = (10.0, 4.5), 100
# Okabe and Ito's colours: told apart by everybody, and in grey.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#8B4A8B"


@dataclass(frozen=True)
class CurvePoint:
    """What one tolerance takes; only the planned sizes if `skipped`, nothing if `refused`."""

    epsilon: float
    method: str
    certified_error: float | None = None
    measured_error: float | None = None
    cells_per_axis: tuple[int, ...] | None = None
    layers: int | None = None
    attention_layers: int | None = None
    parameters: int | None = None
    build_seconds: float | None = None
    refused: str | None = None
    skipped: str | None = None

    @property
    def is_certified(self) -> bool:
        """Whether it was built and proved."""
        return self.certified_error is not None


def tolerances(smallest: float, largest: float, points: int) -> tuple[float, ...]:
    """Tolerances with equal ratios, both ends among them.

    >>> tolerances(0.25, 1.0, 3)
    (0.25, 0.5, 1.0)
    """
    return tuple(float(one) for one in np.geomspace(smallest, largest, points))


def curve(
    asked: Asked, tolerances: Iterable[float], method: str = AUTO, progress: Progress | None = None
) -> tuple[CurvePoint, ...]:
    """Build and prove a target for every tolerance, with the method asked for.

    Example:
        `curve(Asked(targets.mean_scale(tokens=2)), tolerances(0.1, 0.4, 3))`
    """
    check_target(asked.target)
    return tuple(_point(one, attempt(asked, one, method, progress)) for one in tolerances)


def _point(epsilon: float, tried: Attempt) -> CurvePoint:
    if tried.plan is None:
        return CurvePoint(epsilon, tried.method, refused=tried.refused)
    sizes = CurvePoint(
        epsilon,
        tried.method,
        cells_per_axis=tuple(tried.plan.lattice.counts),
        layers=tried.plan.layers,
        attention_layers=tried.plan.attention_layers,
        parameters=tried.plan.parameters,
        build_seconds=tried.seconds,
        skipped=tried.skipped,
    )
    if tried.model is None:
        return sizes
    certificate = tried.model.certificate
    return dataclasses.replace(
        sizes, certified_error=certificate.certified_error, measured_error=certificate.measured.error
    )


def curve_data(asked: Asked, points: Iterable[CurvePoint], output: str | None) -> dict[str, Any]:
    """The curve as a JSON object; `output` is where the picture was written, if it was."""
    return {
        **asked_data(asked.target, asked.p),
        "points": [dataclasses.asdict(point) for point in points],
        "output": output,
    }


HEADS = (
    *("epsilon", "certi-\nfied", "mea-\nsured", "method", "cells\nper\naxis"),
    *("layers", "para-\nmeters", "build\n(s)"),
)


def curve_view(asked: Asked, points: Sequence[CurvePoint], output: str | None) -> RenderableType:
    """The curve as text: the table, and below it why some tolerances have no model."""
    notes = [(_epsilon(point), text) for point in points if (text := _note(point))]
    place = [("written to", output)] if output is not None else []
    return Group(
        heading(title(asked.target)),
        heading(f"error, size and time, errors in L^{number(asked.p)}"),
        narrow_table(HEADS, [_cells(point) for point in points]),
        *([facts(notes + place)] if notes + place else []),
    )


def _cells(point: CurvePoint) -> tuple[str, ...]:
    return (
        _epsilon(point),
        _status(point),
        error(point.measured_error),
        point.method,
        axes(point.cells_per_axis),
        whole(point.layers),
        whole(point.parameters),
        seconds(point.build_seconds),
    )


def _epsilon(point: CurvePoint) -> str:
    return f"{point.epsilon:.4g}"


def _status(point: CurvePoint) -> str:
    if point.refused is not None:
        return "refused"
    return "skipped" if point.skipped is not None else error(point.certified_error)


def _note(point: CurvePoint) -> str | None:
    return point.skipped if point.refused is None else f"refused: {in_short(point.refused)}"


def write_picture(asked: Asked, points: Sequence[CurvePoint], place: str | Path) -> Path:
    """Draw the curve into a .svg, .png or .pdf file, which is replaced in one step or not at all.

    Args:
        asked: what was asked for.
        points: at least one of them certified.
        place: the file; its suffix says which format.

    Returns:
        The place.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter of a name that the font lacks is drawn as a box
        return save_picture(picture(asked, points), Path(place), DOTS_PER_INCH)


def picture(asked: Asked, points: Sequence[CurvePoint]) -> Any:
    """A Matplotlib figure of two panels over the tolerance: errors with the size of the network, and the time."""
    figure = require_matplotlib().Figure(figsize=SIZE, layout="constrained")
    figure.get_layout_engine().set(wspace=0.06)
    figure.suptitle(_plain(title(asked.target)), fontsize=12)
    errors, times = figure.subplots(1, 2, sharex=True)
    layers = errors.twinx()
    built = [point for point in points if point.is_certified]
    _draw_errors(errors, built, asked.p)
    _draw_layers(layers, built)
    _draw_times(times, built)
    for panel in (errors, times):
        panel.grid(True, which="major", color="0.9")
        _mark_missing(panel, points)
        _label_tolerances(panel, points)
    for panel in (errors, layers, times):
        _label_powers(panel.yaxis)
    _draw_legend(figure, (errors, layers, times))
    return figure


def _plain(text: str) -> str:
    """Text that Matplotlib takes as it is: a dollar would begin a formula."""
    return visible(text).replace("$", r"\$")


def _draw_errors(panel: Any, built: Sequence[CurvePoint], p: float) -> None:
    x = [point.epsilon for point in built]
    panel.set(xscale="log", yscale="log", title="error and size", ylabel=f"error in $L^{{{p:g}}}$")
    panel.plot(x, x, color="black", linewidth=1, linestyle="--", label="error = ε")
    panel.plot(x, [point.certified_error for point in built], color=BLUE, marker="o", label="certified error")
    panel.plot(x, [point.measured_error for point in built], color=GREEN, marker="s", label="measured error")


def _draw_layers(right: Any, built: Sequence[CurvePoint]) -> None:
    """Layers, on an axis of their own at the right in its colour."""
    right.set_yscale("log")
    right.set_ylabel("layers", color=ORANGE)
    right.tick_params(axis="y", which="both", colors=ORANGE)
    x = [point.epsilon for point in built]
    right.plot(x, [point.layers for point in built], color=ORANGE, marker="^", linestyle=":", label="layers (right)")


def _draw_times(panel: Any, built: Sequence[CurvePoint]) -> None:
    x = [point.epsilon for point in built]
    panel.set(xscale="log", yscale="log", title="time to build and prove", ylabel="seconds")
    panel.plot(x, [point.build_seconds for point in built], color=PURPLE, marker="D", label="seconds")


def _draw_legend(figure: Any, panels: Iterable[Any]) -> None:
    """One legend for all, below; what stands in several panels is named once."""
    named: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=len(named), fontsize=9, frameon=False)


def _mark_missing(panel: Any, points: Sequence[CurvePoint]) -> None:
    """A grey line where nothing was certified."""
    missing = [point.epsilon for point in points if not point.is_certified]
    for place, epsilon in enumerate(missing):
        panel.axvline(epsilon, color="0.6", linestyle=":", label="nothing certified" if place == 0 else None)


def _label_tolerances(panel: Any, points: Sequence[CurvePoint]) -> None:
    """The tolerances themselves as ticks, as many as are readable."""
    shown = [point.epsilon for point in points][:: max(1, -(-len(points) // 8))]
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
