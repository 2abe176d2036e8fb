"""A trace, as data and as text."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anyformer.networks.roles import Role
from anyformer.reports.stages import KINDS
from anyformer.reports.terminal import count, error_size, facts, heading, number, numbers, paragraph, table
from anyformer.reports.tracing.trace import StageTrace, Trace
from anyformer.reports.tracing.walk import Column, Move

MOST_MOVES = 24


def trace_data(trace: Trace) -> dict[str, Any]:
    """The trace as a JSON object: every move, every digit."""
    derived = {"context_ids": trace.context_ids, "largest_difference": trace.largest_difference}
    stages = [{**asdict(stage), "role": stage.role.name.lower()} for stage in trace.stages]
    return {**asdict(trace), **derived, "stages": stages}


def trace_view(trace: Trace) -> RenderableType:
    """The trace as text, a section a stage."""
    parts: list[RenderableType] = [heading("Input"), _tokens(trace.input)]
    if trace.leaves_domain:
        parts.append(paragraph(f"note: this input leaves the domain, {_box(trace)}; nothing is proved of it"))
    if trace.positioned is not None:
        parts += [heading("Positions: every token moves up into a slot of its own"), _tokens(trace.positioned)]
    for place, stage in enumerate(trace.stages, start=1):
        parts += [Text(), *_stage_view(place, stage, trace)]
    return Group(*parts, Text(), heading("Output"), _outcome(trace))


def _box(trace: Trace) -> str:
    """The domain of a token, coordinate by coordinate; once where all are the same."""
    sides = list(dict.fromkeys(f"[{number(low)}, {number(high)}]" for low, high in zip(*trace.domain, strict=True)))
    return " × ".join(sides)


def _stage_view(place: int, stage: StageTrace, trace: Trace) -> list[RenderableType]:
    layers = f"{count(stage.layers)} layer{'' if stage.layers == 1 else 's'}"
    title = heading(f"{place}. {stage.name}").append(f" · {KINDS[stage.kind]}, {layers}", style="not bold")
    parts: list[RenderableType] = [title, paragraph(stage.role.value, style="dim")]
    parts.append(_moves(stage) if stage.moves else paragraph("no layer moved any token"))
    return [*parts, _after(stage, trace)]


def _moves(stage: StageTrace) -> RenderableType:
    windowed = any(move.window is not None for move in stage.moves)
    columns = ("layer", "token", "from", "to", "window")[: 5 if windowed else 4]
    rows = [_move(move)[: len(columns)] for move in stage.moves[:MOST_MOVES]]
    listed = table(columns, rows, wrapping=("from", "to"), right=("layer", "token"))
    left = len(stage.moves) - MOST_MOVES
    return Group(listed, paragraph(f"… and {count(left)} more; --json lists them all")) if left > 0 else listed


def _move(move: Move) -> tuple[str, ...]:
    window = "" if move.window is None else f"{number(move.window.lower)} to {number(move.window.upper)}"
    return (count(move.layer), str(move.token), numbers(move.before), numbers(move.after), window)


def _after(stage: StageTrace, trace: Trace) -> RenderableType:
    """The tokens after the stage, with what the proof reads in them."""
    readers = {Role.QUANTISE: _cell_notes, Role.CONTEXT_ID: _id_notes, Role.VALUE: _match_notes}
    notes = readers.get(stage.role, _code_notes)(stage, trace)
    places = enumerate(zip(stage.values, notes, strict=True))
    return facts([(f"token {token}", numbers(column), note) for token, (column, note) in places])


def _cell_notes(stage: StageTrace, trace: Trace) -> Iterable[str]:
    codes = _code_notes(stage, trace)
    for token, (cells, values, code) in enumerate(zip(trace.cells, trace.input, codes, strict=True)):
        places = [_place(*place) for place in zip(cells, values, *trace.domain, strict=True)]
        yield ", ".join(part for part in (*places, code) if part) + _slot_note(stage, trace, token)


def _slot_note(stage: StageTrace, trace: Trace, token: int) -> str:
    """How a code splits into the cell's share and the position's."""
    column, code = trace.columns[token], None if stage.codes is None else stage.codes[token]
    if trace.positioned is None or column is None or code is None:
        return ""
    return f" = {count(column)} + {_whole(code - column)} for its position"


def _place(cell: int | None, value: float, low: float, high: float) -> str:
    if cell is not None:
        return f"cell {cell}"
    return "between cells" if low <= value <= high else "outside the domain"


def _code_notes(stage: StageTrace, trace: Trace) -> Iterable[str]:
    for token in range(len(trace.input)):
        yield "" if stage.codes is None else f"code {_whole(stage.codes[token])}"


def _id_notes(stage: StageTrace, trace: Trace) -> Iterable[str]:
    for token in range(len(trace.input)):
        yield "" if stage.codes is None else f"context id {_whole(stage.codes[token])} cells"


def _match_notes(stage: StageTrace, trace: Trace) -> Iterable[str]:
    for token in range(len(trace.input)):
        layers = [move.layer for move in stage.moves if move.token == token]
        yield f"given by layer {', '.join(map(count, layers))}" if layers else "no layer holds its id"


def _whole(code: int | float) -> str:
    return count(code) if isinstance(code, int) else f"{number(code)} (no whole number)"


def _tokens(columns: Iterable[Column]) -> RenderableType:
    return facts([(f"token {token}", numbers(column)) for token, column in enumerate(columns)])


def _outcome(trace: Trace) -> RenderableType:
    if trace.expected is None:
        return _tokens(trace.output)
    rows = []
    for token, (got, wanted) in enumerate(zip(trace.output, trace.expected, strict=True)):
        gaps = ", ".join(error_size(a - b) for a, b in zip(got, wanted, strict=True))
        rows.append((f"token {token}", numbers(got), numbers(wanted), gaps))
    columns = ("network", "target", "difference")
    return table(("", *columns), rows, wrapping=columns)
