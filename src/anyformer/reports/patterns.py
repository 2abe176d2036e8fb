"""The catalogue of patterns and the universality checker's report, as data and as text."""

from collections.abc import Sequence
from typing import Any, Final

from rich.console import Group, RenderableType

from anyformer.patterns.bottlenecks.capacity import Capacity
from anyformer.patterns.catalogue import combinators, descriptions
from anyformer.patterns.designing.designer import Design, DesignOption
from anyformer.patterns.exchange.json_form import to_json
from anyformer.patterns.exchange.notation import DESCRIBED, in_short
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.universality.report import UniversalityReport
from anyformer.reports.terminal import count, facts, heading, paragraph, table

SHOWN: Final = 5
"""How many patterns to choose from are shown."""


def catalogue_data() -> dict[str, Any]:
    """The catalogue as a JSON object."""
    listed = {"patterns": descriptions(), "combinators": combinators()}
    return {key: [{"name": name, "is": what} for name, what in each.items()] for key, each in listed.items()}


def catalogue_view() -> RenderableType:
    """The catalogue as text."""
    seen = "which tokens see which"
    return Group(
        table(("pattern", seen), list(descriptions().items()), wrapping=(seen,)),
        table(("combination", seen), list(combinators().items()), wrapping=(seen,)),
        paragraph("Combine them as in causal(union(ring, star)) or blocked(bigbird:random_keys=3):block=64."),
    )


def described(pattern: PatternFamily | SparsityPattern) -> dict[str, Any]:
    """The pattern itself within JSON that is about it: what was printed can be read as a pattern again."""
    return {DESCRIBED: to_json(pattern)}


def universality_data(report: UniversalityReport, carried: Capacity) -> dict[str, Any]:
    """The checker's report and the pattern's capacity as a JSON object."""
    return {**report.to_json(), "capacity": carried.to_json()}


def universality_view(report: UniversalityReport, carried: Capacity) -> RenderableType:
    """The checker's report as text: the verdict, then every condition with its witness, and the capacity."""
    links = " and ".join(map(count, report.connections))
    growth = "" if report.growth is None else f", growing as {report.growth}"
    rows = [
        ("1. self-loops", str(report.self_loops)),
        ("2. path γ", str(report.path)),
        ("3. reach", str(report.reach)),
        *([("star", str(report.relay))] if report.relay else []),
        *([("causal reach", str(report.causal_reach))] if report.causal_reach else []),
        *_capacity_rows(carried),
        ("connections", f"{links} a layer{growth}"),
        *([("repair", report.repair_in_words)] if report.repair.connections else []),
        *([("γ", _shown(report.path.gamma))] if report.path.gamma else []),
    ]
    return Group(
        heading(f"{report.pattern}, {count(report.tokens)} tokens"), paragraph(report.verdict.value), facts(rows)
    )


def design_view(found: Design) -> RenderableType:
    """What the designer found as text: the cheapest patterns that fit, and the cheapest for other capacities."""
    kind = "causally universal" if found.causal else "universal"
    carried = f", a capacity of at least {count(found.capacity)} in {found.layers}" if found.capacity else ""
    asked = f"{kind} within {found.layers} layer{'s' * (found.layers > 1)}{carried}"
    others = [option for option in found.front if option not in found.fitting[:SHOWN]]
    return Group(
        heading(f"{count(found.tokens)} tokens, {asked}"),
        paragraph(f"cheapest: {in_short(found.best.family)}, {_share(found):.2g} % of the pairs of full attention"),
        _options_table(found.fitting[:SHOWN]),
        *([paragraph("The cheapest for other capacities:"), _options_table(others)] if others else []),
    )


def _share(found: Design) -> float:
    """The executed pairs of the best pattern in percent of all that are allowed."""
    pairs = found.tokens * (found.tokens + 1) / 2 if found.causal else found.tokens**2
    return 100 * found.best.executed / pairs


def _options_table(options: Sequence[DesignOption]) -> RenderableType:
    heads = ("pattern", "executed", "connections", "s", "capacity")
    rows = [
        (
            in_short(option.family),
            count(round(option.executed)),
            count(round(option.connections)),
            count(option.hops),
            count(option.carried),
        )
        for option in options
    ]
    return table(heads, rows, wrapping=heads[:1], right=heads[1:])


def _capacity_rows(carried: Capacity) -> list[tuple[str, str]]:
    """The capacity; and the places that every message passes, if they are fewer than the messages."""
    is_narrow = carried.value is not None and 0 < carried.value < carried.messages
    return [("capacity", str(carried)), *([("bottleneck", carried.bottleneck())] if is_narrow else [])]


def _shown(gamma: tuple[int, ...], most: int = 16) -> str:
    return " → ".join(map(str, gamma[:most])) + (" → …" if len(gamma) > most else "")
