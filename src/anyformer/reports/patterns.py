"""The catalogue of patterns and the universality checker's report, as data and as text."""

from typing import Any

from rich.console import Group, RenderableType

from anyformer.patterns.catalogue import combinators, descriptions
from anyformer.patterns.exchange.json_form import to_json
from anyformer.patterns.exchange.notation import DESCRIBED
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.universality.report import UniversalityReport
from anyformer.reports.terminal import count, facts, heading, paragraph, table


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


def universality_view(report: UniversalityReport) -> RenderableType:
    """The checker's report as text: the verdict, then every condition with its witness."""
    links = " and ".join(map(count, report.connections))
    growth = "" if report.growth is None else f", growing as {report.growth}"
    rows = [
        ("1. self-loops", str(report.self_loops)),
        ("2. path γ", str(report.path)),
        ("3. reach", str(report.reach)),
        *([("star", str(report.relay))] if report.relay else []),
        ("connections", f"{links} a layer{growth}"),
        *([("repair", f"to meet Assumption 1: {report.repair}")] if report.repair.connections else []),
        *([("γ", _shown(report.path.gamma))] if report.path.gamma else []),
    ]
    return Group(
        heading(f"{report.pattern}, {count(report.tokens)} tokens"), paragraph(report.verdict.value), facts(rows)
    )


def _shown(gamma: tuple[int, ...], most: int = 16) -> str:
    return " → ".join(map(str, gamma[:most])) + (" → …" if len(gamma) > most else "")
