"""Methods side by side, as data and as text."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType

from anyformer.certificates.bounds.powers import exponent_data
from anyformer.comparison import Attempt
from anyformer.construction.plans.interpolation_plan import InterpolationPlan
from anyformer.construction.plans.plan import Plan
from anyformer.construction.plans.table_plan import TablePlan
from anyformer.construction.refusal import Refusal
from anyformer.construction.request import Request
from anyformer.reports.plans import asked as asked_line
from anyformer.reports.terminal import count, duration, facts, heading, narrow_table, number


def comparison_data(request: Request, tried: Iterable[Attempt]) -> dict[str, Any]:
    """The comparison as a JSON object."""
    return {**asked_data(request), "epsilon": request.tolerance, "methods": [_method_data(one) for one in tried]}


def _method_data(one: Attempt) -> dict[str, Any]:
    verified = one.verification is not None
    return {
        **attempt_data(one),
        "connections": None if one.plan is None else one.plan.connections,
        "id_bits": one.plan.id_bits if isinstance(one.plan, TablePlan) else None,
        "kind": None if one.model is None else one.model.certificate.kind.value,
        "verify_seconds": one.verify_seconds if verified else None,
        "needed": None if one.refusal is None else one.refusal.shortage.amount,
        "refusal": None if one.refusal is None else refusal_data(one.refusal),
    }


def attempt_data(one: Attempt) -> dict[str, Any]:
    """The part about one attempt, in a comparison and in a curve."""
    planned, certificate = one.plan, None if one.model is None else one.model.certificate
    return {
        "method": one.method,
        "cells_per_axis": _cells_per_axis(planned),
        "layers": None if planned is None else planned.layers,
        "attention_layers": None if planned is None else planned.attention_layers,
        "parameters": None if planned is None else planned.parameters,
        "certified_error": None if certificate is None else certificate.certified_error,
        "measured_error": None if certificate is None else certificate.measured.error,
        "build_seconds": one.build_seconds,
        "refused": refused_text(one),
        "skipped": skipped_text(one),
    }


def _cells_per_axis(planned: Plan | None) -> list[int] | None:
    if isinstance(planned, InterpolationPlan):
        return planned.cells_per_axis
    return list(planned.lattice.counts) if isinstance(planned, TablePlan) else None


def refusal_data(refusal: Refusal) -> dict[str, Any]:
    """Why a method refused, and what would fit, as a JSON object."""
    short, fit = refusal.shortage, refusal.fit
    return {
        "resource": short.resource.name.lower(),
        "needed": short.needed,
        "allowed": short.allowed,
        "cells_per_axis": None if refusal.cells_per_axis is None else list(refusal.cells_per_axis),
        "would_fit": {"tolerance": fit.tolerance, "tokens": fit.tokens, "methods": list(fit.methods)},
    }


def refused_text(one: Attempt) -> str | None:
    """Why there is no certified model, in full."""
    if one.verification is not None and not one.is_certified:
        return f"built, but not verified: {one.verification.reason}"
    return one.refused


def skipped_text(one: Attempt) -> str | None:
    """Why a network was not built although it could be."""
    if one.plan is None or not one.is_skipped:
        return None
    return f"not built: about {duration(one.plan.expected_seconds)} expected"


def asked_data(request: Request) -> dict[str, Any]:
    """The target and the norm as the start of a JSON object."""
    target = request.target
    return {
        "target": target.name,
        "tokens": target.tokens,
        "width": target.width,
        "positions": request.has_positions,
        "p": exponent_data(request.p),
    }


HEADS = (
    *("method", "cells\nper\naxis", "layers", "at-\nten-\ntion", "links\na\nlayer", "para-\nme-\nters", "id\nbits"),
    *("certi-\nfied", "mea-\nsured", "build\n(s)", "verify\n(s)"),
)


def comparison_view(request: Request, tried: Sequence[Attempt]) -> RenderableType:
    """The comparison as text: the table, and below it why some methods have no model."""
    notes = [(one.method, text) for one in tried if (text := note(one))]
    return Group(
        heading(title(request)),
        heading(f"every method, asked for an error of at most {number(request.tolerance)} in L^{number(request.p)}"),
        narrow_table(HEADS, [_cells(one) for one in tried]),
        *([facts(notes)] if notes else []),
    )


def title(request: Request) -> str:
    """What is approximated, in one line."""
    target = request.target
    return asked_line(target.name, target.tokens, target.width, request.has_positions)


def note(one: Attempt) -> str | None:
    """Why there is no certified model, in a sentence that does not repeat the request."""
    if one.refusal is not None:
        return f"refused: {one.refusal.reason}"
    refused = refused_text(one)
    return skipped_text(one) if refused is None else f"refused: {refused}"


def _cells(one: Attempt) -> tuple[str, ...]:
    data = _method_data(one)
    sizes = ("layers", "attention_layers", "connections", "parameters", "id_bits")
    return (
        one.method,
        axes(data["cells_per_axis"]),
        *(whole(data[name]) for name in sizes),
        status(one),
        error(data["measured_error"]),
        seconds(one.build_seconds),
        seconds(one.verify_seconds),
    )


def status(one: Attempt) -> str:
    """The certified error, or why there is none, in a word."""
    if one.is_certified and one.model is not None:
        return error(one.model.certificate.certified_error)
    return "skipped" if one.is_skipped else "refused"


def axes(counts: Sequence[int] | None) -> str:
    """Cells per axis, or nothing."""
    return "×".join(map(count, counts or ()))


def whole(value: int | None) -> str:
    """A whole number, or nothing."""
    return "" if value is None else count(value)


def error(value: float | None) -> str:
    """An error to four digits, or nothing: a table has no room for more."""
    return "" if value is None else f"{value:.4g}"


def seconds(value: float | None) -> str:
    """Seconds to a hundredth, or nothing."""
    return "" if value is None else f"{value:,.2f}"
