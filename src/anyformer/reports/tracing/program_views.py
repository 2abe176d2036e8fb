"""A trace of a program, as data and as text."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anyformer.reports.terminal import error_size, heading, number, paragraph, table
from anyformer.reports.tracing.program_trace import ProgramTrace, StepTrace

# Tokens and steps shown on a terminal; --json has all.
MOST_TOKENS, MOST_STEPS = 4, 60


def program_trace_data(trace: ProgramTrace) -> dict[str, Any]:
    """The trace as a JSON object: every token, every digit."""
    steps = [{**asdict(step), "largest_difference": step.largest_difference} for step in trace.steps]
    return {**asdict(trace), "steps": steps, "largest_difference": trace.largest_difference}


def program_trace_view(trace: ProgramTrace) -> RenderableType:
    """The trace as text: a line a step and token."""
    parts: list[RenderableType] = [heading("Input"), _input(trace)]
    if trace.leaves_domain:
        parts.append(paragraph("note: this input leaves the domain; nothing is proved of it"))
    parts += [Text(), heading("Steps: what each should be, and what the network holds"), _steps(trace.steps)]
    if len(trace.steps) > MOST_STEPS:
        parts.append(paragraph(f"… and {len(trace.steps) - MOST_STEPS} more steps; --json lists them all"))
    return Group(*parts, Text(), heading("Output"), _output(trace))


def _input(trace: ProgramTrace) -> RenderableType:
    rows = [(f"token {k}", ", ".join(map(number, row))) for k, row in enumerate(trace.input[:MOST_TOKENS])]
    return table(("", "values"), [*rows, *_more(len(trace.input), 1)], wrapping=("values",))


def _steps(steps: Sequence[StepTrace]) -> RenderableType:
    rows = []
    for step in steps[:MOST_STEPS]:
        for token in range(min(len(step.exact), MOST_TOKENS)):
            name, what = (step.name, step.formula) if token == 0 else ("", "")
            proved = error_size(step.proved) if token == 0 else ""
            rows.append((name, what, str(token), _short(step.exact[token]), _short(step.network[token]), proved))
    columns = ("step", "what it is", "token", "exact", "network", "error ≤")
    return table(columns, rows, wrapping=("what it is",), right=("token", "exact", "network", "error ≤"))


def _short(value: float) -> str:
    return f"{value:.7g}"


def _output(trace: ProgramTrace) -> RenderableType:
    rows = []
    for token, (got, wanted) in enumerate(zip(trace.output, trace.expected, strict=True)):
        if token < MOST_TOKENS:
            gap = max(abs(a - b) for a, b in zip(got, wanted, strict=True))
            rows.append(
                (f"token {token}", ", ".join(map(number, got)), ", ".join(map(number, wanted)), error_size(gap))
            )
    columns = ("network", "target", "difference")
    shown = table(("", *columns), [*rows, *_more(len(trace.output), 3)], wrapping=columns)
    line = (
        f"largest difference {error_size(trace.largest_difference)} over all tokens; proved {error_size(trace.proved)}"
    )
    return Group(shown, paragraph(line))


def _more(tokens: int, columns: int) -> list[tuple[str, ...]]:
    left = tokens - MOST_TOKENS
    return [] if left <= 0 else [(f"… {left} more", *("",) * columns)]
