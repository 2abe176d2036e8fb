"""A comparison of runtimes, as data and as text."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anyformer.parity.rows import Outcome, Parity, Proof, Row
from anyformer.reports.terminal import count, error_size, heading, paragraph, table


def parity_data(found: Parity) -> dict[str, Any]:
    """The comparison as a JSON object; what is infinite becomes null."""
    return {
        "target": found.target,
        "p": "inf" if found.p == float("inf") else found.p,
        "tolerance": found.tolerance,
        "certified_error": found.certified_error,
        "dtype": found.dtype,
        "inputs": found.inputs,
        "holds": found.holds,
        "ends_at": found.ends_at,
        "rows": [_row_data(row) for row in found.rows],
        "proofs": [_proof_data(proof) for proof in found.proofs],
    }


def _row_data(row: Row) -> dict[str, Any]:
    return {
        "runtime": row.runtime,
        "dtype": row.dtype,
        "outcome": row.outcome.name.lower(),
        "note": row.note,
        "difference": row.difference,
        "difference_on_cells": row.difference_on_cells,
        "error": row.error,
        "distance": row.distance,
        "holds": row.holds,
    }


def _proof_data(proof: Proof) -> dict[str, Any]:
    verdict = None if proof.verdict is None else proof.verdict.name.lower()
    return {"dtype": proof.dtype, "verdict": verdict, "reason": proof.reason, "bound": proof.bound}


def parity_view(found: Parity) -> RenderableType:
    """The comparison as text: a table, and in which types the guarantee holds."""
    has_cells = any(row.difference_on_cells is not None for row in found.rows)
    columns = ["type", "runtime", "difference", "on cells", "error", "guarantee"]
    if not has_cells:
        columns.remove("on cells")
    rows = [_cells(row, has_cells) for row in found.rows]
    title = heading(f"{found.target}: {count(found.inputs)} inputs, error at most {found.tolerance:g} in L^{found.p:g}")
    listed = table(columns, rows, right=columns[2:-1])
    parts: list[RenderableType] = [title, listed, Text(), paragraph(_legend(found, has_cells)), *_notes(found), Text()]
    if found.proofs:
        parts += [heading("Proved by the checker"), _proofs(found), Text()]
    return Group(*parts, paragraph(_ending(found)))


def _cells(row: Row, has_cells: bool) -> tuple[str, ...]:
    numbers = [row.difference, *([row.difference_on_cells] if has_cells else []), row.distance]
    shown = ["" if value is None else error_size(value) for value in numbers]
    return (row.dtype, row.runtime, *shown, _guarantee(row))


def _guarantee(row: Row) -> str:
    if row.outcome is not Outcome.RAN:
        return str(row.outcome.value)
    return "holds" if row.holds else "broken"


def _legend(found: Parity, has_cells: bool) -> str:
    cells = " On cells: the same on centres of cells, where float64 should give the same bits." if has_cells else ""
    norm = "the largest one seen" if found.p == float("inf") else f"estimated in L^{found.p:g}"
    return f"Difference: from the float64 definition.{cells} Error: from the target, {norm}."


def _notes(found: Parity) -> list[RenderableType]:
    """Why runtimes did not run, each reason once."""
    silent = [row for row in found.rows if row.outcome is not Outcome.RAN]
    reasons = dict.fromkeys((_who(row, silent), row.note) for row in silent)
    return [paragraph(f"{who}: {note}.") for who, note in reasons]


def _who(row: Row, silent: list[Row]) -> str:
    """The runtime, or the type if no runtime runs in it for this reason."""
    alike = [other for other in silent if (other.dtype, other.note) == (row.dtype, row.note)]
    return row.dtype if len(alike) > 1 else row.runtime


def _proofs(found: Parity) -> RenderableType:
    rows = [
        (
            proof.dtype,
            "does not fit" if proof.verdict is None else proof.verdict.name.lower(),
            "" if proof.bound is None else error_size(proof.bound),
            proof.reason,
        )
        for proof in found.proofs
    ]
    return table(("type", "verdict", "error at most", "why"), rows, wrapping=("why",), right=("error at most",))


def _ending(found: Parity) -> str:
    if not found.holds:
        return f"the guarantee is broken in {found.dtype}, the model's own type"
    if found.ends_at is None:
        return "no input broke the guarantee in any type; only what the checker calls proved is sure"
    return f"the guarantee ends at {found.ends_at}"
