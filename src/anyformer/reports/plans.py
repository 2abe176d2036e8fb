"""A plan, as data and as text: sizes, bits and where the error goes."""

from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType

from anyformer.certificates.bounds.powers import exponent_data
from anyformer.construction.plans.compiled_plan import CompiledPlan
from anyformer.construction.plans.interpolation_plan import InterpolationPlan
from anyformer.construction.plans.plan import Plan, PlannedStage
from anyformer.construction.plans.table_plan import TablePlan
from anyformer.networks.dtypes import FLOAT64
from anyformer.patterns.exchange.notation import in_short
from anyformer.reports.programs import program_rows, program_summary, program_view, summary_view
from anyformer.reports.stages import stage_row, stage_table
from anyformer.reports.terminal import count, duration, error_size, facts, heading, number, size, table


def plan_data(plan: Plan) -> dict[str, Any]:
    """The plan as a JSON object."""
    request, target = plan.request, plan.target
    return {
        "target": plan.target.name,
        "tokens": target.tokens,
        "width": target.width,
        "p": exponent_data(request.p),
        "epsilon": request.tolerance,
        "positions": plan.has_positions,
        "method": plan.method.name,
        "dtype": plan.request.dtype.name,
        "block_shape": [plan.shape.heads, plan.shape.head_size, plan.shape.hidden_size],
        **_kind_data(plan),
        "layers": plan.layers,
        "attention_layers": plan.attention_layers,
        "connections_a_layer": plan.connections,
        "pattern": None if request.pattern is None else in_short(request.pattern),
        "probability_map": repr(request.probability_map),
        "stages": [_stage_data(stage) for stage in plan.stages],
        "parameters": plan.parameters,
        "bytes_on_disk": plan.bytes_on_disk,
        "expected_seconds": plan.expected_seconds,
        "expected_memory": plan.expected_memory,
        "planned_error": plan.planned_error,
        "instead_of": plan.instead_of,
    }


def _kind_data(plan: Plan) -> dict[str, Any]:
    """What only tables or only compiled networks have."""
    if isinstance(plan, TablePlan):
        return {
            "cells_per_axis": list(plan.lattice.counts),
            "cell_width": plan.lattice.cell_width,
            "cells": plan.cells,
            "ids": plan.ids,
            "id_bits": plan.id_bits,
            "error": asdict(plan.error),
        }
    if isinstance(plan, InterpolationPlan):
        return {
            "cells_per_axis": plan.cells_per_axis,
            "nodes": plan.nodes,
            "stream_width": plan.written.network.stream_width,
            "hidden_units": plan.written.network.hidden_unit_count,
            "program": program_summary(plan.written.hints),
        }
    if isinstance(plan, CompiledPlan):
        return {
            "stream_width": plan.written.network.stream_width,
            "hidden_units": plan.written.network.hidden_unit_count,
            "program": program_rows(plan.program, plan.written.hints),
        }
    return {}


def plan_view(plan: Plan) -> RenderableType:
    """The plan as text."""
    sizes = facts(
        [
            ("method", plan.method.name),
            *([] if plan.request.dtype == FLOAT64 else [("dtype", plan.request.dtype.name)]),
            (
                "block",
                f"{plan.shape.heads} head{'' if plan.shape.heads == 1 else 's'} of size {plan.shape.head_size}, "
                f"{plan.shape.hidden_size} hidden units",
            ),
            *_kind_facts(plan),
            ("layers", f"{count(plan.layers)}, of which {count(plan.attention_layers)} attention"),
            *_sparse_facts(plan),
            ("parameters", count(plan.parameters)),
            ("on disk", size(plan.bytes_on_disk)),
            ("time expected", f"about {duration(plan.expected_seconds)}"),
            ("memory expected", f"below {size(plan.expected_memory)} for the proof"),
            *([] if plan.instead_of is None else [("instead of", plan.instead_of)]),
        ]
    )
    return Group(
        heading(asked(plan.target.name, plan.target.tokens, plan.target.width, plan.has_positions)),
        heading(
            f"planned error {error_size(plan.planned_error)} in L^{number(plan.request.p)}, asked for "
            f"{number(plan.request.tolerance)}"
        ),
        sizes,
        stage_table([stage_row(stage.name, stage.role, stage.kind, stage.layers) for stage in plan.stages]),
        *_kind_views(plan),
    )


def _kind_facts(plan: Plan) -> list[tuple[str, str]]:
    if isinstance(plan, TablePlan):
        return [
            ("cells per axis", " × ".join(map(count, plan.lattice.counts))),
            ("cells", count(plan.cells)),
            ("context ids", f"{count(plan.ids)} of {plan.id_bits} bits"),
        ]
    return [(name, str(value)) for name, value in plan.facts().items()]


def _kind_views(plan: Plan) -> list[RenderableType]:
    if isinstance(plan, TablePlan):
        return [_error_view(plan)]
    if isinstance(plan, InterpolationPlan):
        return [summary_view(plan.written.hints)]
    if isinstance(plan, CompiledPlan):
        return [program_view(plan.program, plan.written.hints)]
    return []


def _stage_data(stage: PlannedStage) -> dict[str, Any]:
    return {"name": stage.name, "role": stage.role.name.lower(), "kind": stage.kind, "layers": stage.layers}


def _sparse_facts(plan: Plan) -> list[tuple[str, str]]:
    pattern = plan.request.pattern
    if pattern is None:
        return []
    return [
        ("pattern", f"{in_short(pattern)}, {count(plan.connections)} connections a layer"),
        ("weights by", repr(plan.request.probability_map)),
    ]


def asked(name: str, tokens: int, width: int, has_positions: bool) -> str:
    """What is approximated, in one line."""
    order = "with positions" if has_positions else "permutation equivariant"
    return f"{name} on {tokens} tokens of width {width}, {order}"


def _error_view(plan: TablePlan) -> RenderableType:
    parts = [
        ("variation", plan.error.variation, "the target is not constant on cells"),
        ("coincidence", plan.error.coincidence, "two tokens in one cell have no ids and are sent to 0"),
        ("rounding", plan.error.rounding, "outputs keep the bits that the ids leave"),
        ("ramps", plan.error.ramps, "the thin walls between cells"),
        ("total", plan.error.total, f"of {number(plan.request.tolerance)}"),
    ]
    rows = [(name, error_size(value), why) for name, value, why in parts]
    return table(("error from", "L^p norm", "because"), rows, wrapping=("because",), right=("L^p norm",))
