"""The error budget: who spends how much of ε."""

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anyformer.certificates.claims.certificate import Certificate
from anyformer.pictures import BLUE, FAINT, GREEN, GROUND, INK, ORANGE, PAPER, SMALL, in_house_style, new_figure, plain
from anyformer.reports.figures.numbers import LARGEST, at_most
from anyformer.reports.figures.subject import LeftOut, Plate, Subject

# The largest are shown.
MOST_PARTS = 20
LONGEST = 44
# From so large a ratio on, a linear axis shows nothing of the small ones.
WIDE_RANGE = 300.0
WORDS = {
    "cells": "inside the cells: one value each",
    "coincidence": "cells in which tokens coincide",
    "rest": "the thin walls between cells",
    "interpolation": "the table between its nodes",
    "computation": "the network computing the table",
}


@dataclass(frozen=True)
class Part:
    """One that spends, in words, and how much."""

    name: str
    amount: float
    share: float
    """Of ε, as the parts add up: in the L^p norm as p-th powers."""


@dataclass(frozen=True)
class Budget:
    """What the certificate allows, what is proved of it, part by part, and what was measured."""

    tolerance: float
    certified: float
    measured: float
    parts: tuple[Part, ...]
    left_out: int
    adds_up: bool
    """Whether the parts make up the certified error; the errors of a program's steps flow into each other instead."""

    @property
    def is_wide(self) -> bool:
        """Whether the amounts differ by so much that they need a logarithmic axis."""
        amounts = [one for one in (*(part.amount for part in self.parts), self.measured) if one > 0]
        return bool(amounts) and self.tolerance > WIDE_RANGE * min(amounts)


def budget_of(certificate: Certificate) -> Budget:
    """The terms of a certificate, the largest ones if there are many."""
    is_program = certificate.grid is None and certificate.cells is None
    named = _steps(certificate) if is_program else _terms(certificate)
    power = 1.0 if certificate.p == math.inf else certificate.p
    parts = [Part(name, amount, _share(amount / certificate.tolerance, power)) for name, amount in named.items()]
    kept = sorted(parts, key=lambda part: -part.amount)[:MOST_PARTS] if len(parts) > MOST_PARTS else parts
    return Budget(
        certificate.tolerance,
        certificate.certified_error,
        certificate.measured.error,
        tuple(kept),
        len(parts) - len(kept),
        adds_up=not is_program,
    )


def _share(ratio: float, power: float) -> float:
    try:
        return float(ratio**power)
    except OverflowError:
        return math.inf


def _terms(certificate: Certificate) -> dict[str, float]:
    return {WORDS[name]: amount for name, amount in certificate.terms.items() if name in WORDS}


def _steps(certificate: Certificate) -> dict[str, float]:
    """The errors of the steps that are more than their inputs, which are exact."""
    stated = certificate.construction.get("program")
    steps = stated.get("steps") if isinstance(stated, Mapping) else None
    known = steps if isinstance(steps, Mapping) else {}
    found = {}
    for name, amount in certificate.terms.items():
        step = "v" + name.removeprefix("step_")
        if name.startswith("step_") and amount > 0:
            found[f"{step} = {known[step]}" if step in known else step] = amount
    return found


@in_house_style
def draw_budget(budget: Budget) -> Any:
    """A row for each part, for all together, and for what was measured; a line where ε is."""
    rows = [
        *((part.name, part.amount, BLUE) for part in budget.parts),
        ("together" if budget.adds_up else "the output", budget.certified, ORANGE),
        ("measured on samples", budget.measured, GREEN),
    ]
    figure = new_figure(0.9 + 0.27 * len(rows))
    panel = figure.subplots()
    for place, (_, amount, colour) in enumerate(rows):
        if budget.is_wide:
            _draw_dot(panel, place, amount, colour)
        else:
            _draw_bar(panel, place, amount, colour, is_long=amount > 0.5 * _largest(budget))
    panel.axvline(budget.tolerance, color=INK, linestyle="--", linewidth=1)
    panel.annotate(
        f"ε = {budget.tolerance:g}",
        (budget.tolerance, 1.0),
        xycoords=("data", "axes fraction"),
        ha="right",
        va="bottom",
    )
    panel.set_yticks(
        range(len(rows)), labels=[plain(textwrap.shorten(name, LONGEST, placeholder=" …")) for name, *_ in rows]
    )
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(rows) - 0.4, -0.6)
    if budget.is_wide:
        amounts = [amount for _, amount, _ in rows if amount > 0]
        panel.set(xscale="log", xlim=(max(min(amounts) / 10, 1 / LARGEST), budget.tolerance * 30))
    else:
        panel.set_xlim(0, 1.15 * _largest(budget))
    panel.set_xlabel("error")
    return figure


def _largest(budget: Budget) -> float:
    return max(budget.tolerance, budget.certified, budget.measured, *(part.amount for part in budget.parts))


def _draw_bar(panel: Any, place: int, amount: float, colour: str, is_long: bool) -> None:
    """With its length in numbers, inside if it is long: what is beyond its end may be ε."""
    panel.barh(place, amount, height=0.62, color=colour)
    offset, side, ink = (-4, "right", PAPER) if is_long else (3, "left", INK)
    where: dict[str, Any] = {"xytext": (offset, 0), "textcoords": "offset points", "ha": side, "va": "center_baseline"}
    panel.annotate(
        at_most(amount), (amount, place), **where, color=ink, fontsize=SMALL, bbox=None if is_long else GROUND
    )


def _draw_dot(panel: Any, place: int, amount: float, colour: str) -> None:
    """A bar has no meaning on a logarithmic axis, which has no 0."""
    panel.axhline(place, color=FAINT, linewidth=0.6, zorder=0)
    if amount <= 0:
        panel.annotate("0", (0.01, place), xycoords=("axes fraction", "data"), va="bottom", fontsize=SMALL)
        return
    panel.plot(amount, place, "o", color=colour, markersize=6, zorder=3)
    beside: dict[str, Any] = {"xytext": (7, 0), "textcoords": "offset points", "va": "center_baseline"}
    panel.annotate(at_most(amount), (amount, place), **beside, fontsize=SMALL, bbox=GROUND)


def plates(subject: Subject) -> list[Plate | LeftOut]:
    """Always one."""
    budget = budget_of(subject.certificate)
    return [Plate("budget", "The error budget", _caption(subject, budget), draw_budget(budget))]


def _caption(subject: Subject, budget: Budget) -> str:
    p = subject.certificate.p
    spent = f"Of ε = {budget.tolerance:g}, at most {at_most(budget.certified)} is spent, as {subject.stands}"
    if not budget.adds_up:
        how = (
            "every step of the program has an error of its own, at most what its row says, and passes it on: the "
            "rows do not add up, and what reads a step may scale its error down"
        )
    elif p == math.inf:
        how = "the rows add up"
    else:
        how = f"the rows add up as powers of {p:g}"
    left = f" {budget.left_out:,} steps with smaller errors are left out." if budget.left_out else ""
    scale = " The axis is logarithmic." if budget.is_wide else ""
    return f"{spent}; {how}.{left}{scale} What was measured is no proof, and must not be more."
