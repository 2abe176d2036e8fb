"""A program, as data and as text: every step, where it lives in the network, and how exactly it is computed."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from anyformer.certificates.claims.certificate import Certificate
from anyformer.certificates.programs.hints import Hint
from anyformer.programs.program import Program
from anyformer.programs.text import formulas
from anyformer.reports.terminal import count, error_size, heading, table

# More steps than this are not listed on a terminal.
MOST_ROWS = 60


def program_rows(program: Program, hints: Sequence[Hint]) -> list[dict[str, Any]]:
    """The steps that a network computes, in order."""
    return _rows(formulas(program, {hint.node for hint in hints}), hints, {})


def program_view(program: Program, hints: Sequence[Hint]) -> RenderableType:
    """The same as a table."""
    return _table(program_rows(program, hints))


def program_summary(hints: Sequence[Hint]) -> list[dict[str, Any]]:
    """How many steps each layer computes: the copies, comparisons and hats of an interpolant are too many to list."""
    layers = sorted({hint.layer for hint in hints})
    return [_layer_summary(layer, [hint for hint in hints if hint.layer == layer]) for layer in layers]


def _layer_summary(layer: int, hints: Sequence[Hint]) -> dict[str, Any]:
    by_heads = any(hint.head is not None for hint in hints)
    by, what = ("heads", "copies of tokens") if by_heads else ("units", "maxima, hats of nodes, gates")
    return {"layer": layer, "by": by, "steps": len(hints), "what": what}


def summary_view(hints: Sequence[Hint]) -> RenderableType:
    """The same as a table."""
    rows = [(str(row["layer"]), count(row["steps"]), row["what"], row["by"]) for row in program_summary(hints)]
    return table(("layer", "steps", "what they are", "by"), rows, wrapping=("what they are",), right=("steps",))


def stated_program(certificate: Certificate) -> list[dict[str, Any]]:
    """The steps as a certificate states them, with the errors that it states; of an interpolant only how many."""
    if certificate.cells is not None:
        return program_summary(certificate.hints)
    stated = certificate.construction.get("program")
    return _rows(stated if isinstance(stated, Mapping) else {}, certificate.hints, certificate.terms)


def program_of(certificate: Certificate) -> list[RenderableType]:
    """The same as text; nothing for a table."""
    if certificate.grid is not None:
        return []
    if certificate.cells is not None:
        return [heading("Program"), summary_view(certificate.hints)]
    return [heading("Program"), _table(stated_program(certificate))]


def _rows(stated: Mapping[str, Any], hints: Sequence[Hint], errors: Mapping[str, float]) -> list[dict[str, Any]]:
    steps = stated.get("steps", {})
    known = steps if isinstance(steps, Mapping) else {}
    return [
        {
            "step": "" if hint.is_helper else f"v{hint.node}",
            "formula": f"helps v{hint.node}" if hint.is_helper else str(known.get(f"v{hint.node}", "not stated")),
            "layer": hint.layer,
            "head": hint.head,
            "channel": hint.channel,
            "error": None if hint.is_helper else errors.get(f"step_{hint.node}"),
        }
        for hint in sorted(hints, key=lambda hint: (hint.layer, hint.node))
    ]


def _table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    shown = [
        (row["step"], row["formula"], _place(row), "—" if row["error"] is None else error_size(row["error"]))
        for row in rows[:MOST_ROWS]
    ]
    if len(rows) > MOST_ROWS:
        shown.append(("…", f"{count(len(rows) - MOST_ROWS)} more steps; --json lists all", "", ""))
    return table(("step", "what it is", "where", "error"), shown, wrapping=("what it is",), right=("error",))


def _place(row: Mapping[str, Any]) -> str:
    by = "units" if row["head"] is None else f"head {row['head']}"
    return f"layer {row['layer']}, {by}, channel {row['channel']}"
