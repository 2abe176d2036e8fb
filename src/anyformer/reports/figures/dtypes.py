"""The error in each float type: where the guarantee ends."""

import math
from dataclasses import dataclass
from typing import Any

from anyformer.parity import parity
from anyformer.parity.runners import Engine
from anyformer.pictures import BLUE, FAINT, GROUND, INK, ORANGE, SMALL, in_house_style, new_figure
from anyformer.reports.figures.numbers import LARGEST, about
from anyformer.reports.figures.subject import LeftOut, Plate, Subject
from anyformer.targets.target import Target

# Fewer inputs where the network is large. Work is in numbers computed, about; more is left to `anyformer parity`.
FEWEST, MOST, WORK, MOST_WORK = 32, 256, 2e7, 5e8
TITLE = "Float types"


@dataclass(frozen=True)
class InType:
    """The error of the network with weights and program in one type; None if the weights do not fit it."""

    dtype: str
    error: float | None
    holds: bool
    note: str


@dataclass(frozen=True)
class ByType:
    """From the widest type to the narrowest."""

    rows: tuple[InType, ...]
    own: str
    tolerance: float
    p: float
    inputs: int


def by_type(subject: Subject, target: Target, inputs: int) -> ByType:
    """Measure the error in the certificate's norm, in every type."""
    found = parity(subject.model, target, inputs=inputs, runners=[Engine()], proofs=False)
    rows = [
        InType(row.dtype, _known(row.distance), bool(row.holds), row.note)
        for row in found.rows
        if row.holds is not None
    ]
    return ByType(tuple(rows), found.dtype, found.tolerance, found.p, found.inputs)


def _known(distance: float | None) -> float | None:
    return distance if distance is not None and 0 <= distance < LARGEST else None


@in_house_style
def draw_by_type(shown: ByType) -> Any:
    """A dot a type; a line where ε is."""
    figure = new_figure(0.95 + 0.3 * len(shown.rows))
    panel = figure.subplots()
    known = [row.error for row in shown.rows if row.error]
    panel.set(
        xscale="log", xlim=(max(min([*known, shown.tolerance]) / 10, 1 / LARGEST), max([*known, shown.tolerance]) * 30)
    )
    for place, row in enumerate(shown.rows):
        panel.axhline(place, color=FAINT, linewidth=0.6, zorder=0)
        if row.error:
            _draw_dot(panel, place, row, row.error)
            continue
        said = "does not fit, or overflows" if row.error is None else "0"
        panel.annotate(said, (0.02, place), xycoords=("axes fraction", "data"), va="bottom", fontsize=SMALL)
    panel.axvline(shown.tolerance, color=INK, linestyle="--", linewidth=1)
    panel.annotate(
        f"ε = {shown.tolerance:g}", (shown.tolerance, 1.0), xycoords=("data", "axes fraction"), ha="right", va="bottom"
    )
    names = [f"{row.dtype} (certified)" if row.dtype == shown.own else row.dtype for row in shown.rows]
    panel.set_yticks(range(len(names)), labels=names)
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(names) - 0.5, -0.6)
    panel.set_xlabel("largest error seen" if shown.p == math.inf else f"estimated error in $L^{{{shown.p:g}}}$")
    return figure


def _draw_dot(panel: Any, place: int, row: InType, error: float) -> None:
    marker, colour, more = ("o", BLUE, "") if row.holds else ("X", ORANGE, ": beyond ε")
    panel.plot(error, place, marker, color=colour, markersize=7, zorder=3)
    beside: dict[str, Any] = {"xytext": (8, 0), "textcoords": "offset points", "va": "center_baseline"}
    panel.annotate(about(error) + more, (error, place), **beside, fontsize=SMALL, bbox=GROUND)


def plates(subject: Subject) -> list[Plate | LeftOut]:
    """One where the target is known and the network is not large."""
    if subject.target is None:
        return [LeftOut(TITLE, "the function is not known; name it with --target (target=…)")]
    network = subject.network
    each = network.tokens * max(network.parameter_count, 1)
    if MOST * each > MOST_WORK:
        return [LeftOut(TITLE, "the network is large; anyformer parity measures it in every type")]
    shown = by_type(subject, subject.target, min(MOST, max(FEWEST, int(WORK / each))))
    if not shown.rows:
        return [LeftOut(TITLE, "the network runs in its own type alone")]
    caption = (
        f"The weights rounded to each type and the program run in it, on {shown.inputs:,} inputs. The certificate is "
        f"about {shown.own}; the others are measured, not proved. anyformer parity compares every runtime."
    )
    return [Plate("types", TITLE, caption, draw_by_type(shown))]
