"""A plan, as data and as text: sizes, bits and where the error goes."""

from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType

from anyformer.construction.plans import Plan
from anyformer.construction.sparse import pattern_at
from anyformer.patterns.exchange.json_form import in_short
from anyformer.reports.stages import KINDS, purpose
from anyformer.reports.terminal import count, duration, error_size, facts, heading, number, size, table


def plan_data(plan: Plan) -> dict[str, Any]:
    """The plan as a JSON object."""
    lattice = plan.lattice
    return {
        "target": plan.target.name,
        "tokens": lattice.tokens,
        "width": lattice.width,
        "p": plan.p,
        "epsilon": plan.tolerance,
        "positions": lattice.has_positions,
        "method": plan.method,
        "block_shape": [plan.shape.heads, plan.shape.head_size, plan.shape.hidden_size],
        "cells_per_axis": list(lattice.counts),
        "cell_width": lattice.cell_width,
        "cells": plan.cells,
        "layers": plan.layers,
        "attention_layers": plan.attention_layers,
        "connections_a_layer": connections_of(plan),
        "pattern": None if plan.pattern is None else in_short(plan.pattern),
        "probability_map": repr(plan.probability_map),
        "stages": [asdict(stage) for stage in plan.stages],
        "parameters": plan.parameters,
        "ids": plan.ids,
        "id_bits": plan.id_bits,
        "bytes_on_disk": plan.bytes_on_disk,
        "expected_seconds": plan.expected_seconds,
        "expected_memory": plan.expected_memory,
        "error": asdict(plan.error),
    }


def plan_view(plan: Plan) -> RenderableType:
    """The plan as text."""
    lattice = plan.lattice
    sizes = facts(
        [
            ("method", plan.method),
            (
                "block",
                f"{plan.shape.heads} heads of size {plan.shape.head_size}, {plan.shape.hidden_size} hidden units",
            ),
            ("cells per axis", " × ".join(map(count, lattice.counts))),
            ("cells", count(plan.cells)),
            ("layers", f"{count(plan.layers)}, of which {count(plan.attention_layers)} attention"),
            *_sparse_facts(plan),
            ("parameters", count(plan.parameters)),
            ("context ids", f"{count(plan.ids)} of {plan.id_bits} bits"),
            ("on disk", size(plan.bytes_on_disk)),
            ("time expected", f"about {duration(plan.expected_seconds)}"),
            ("memory expected", f"below {size(plan.expected_memory)} for the proof"),
        ]
    )
    stages = [(stage.name, KINDS[stage.kind], count(stage.layers), purpose(stage.name)) for stage in plan.stages]
    return Group(
        heading(asked(plan.target.name, lattice.tokens, lattice.width, lattice.has_positions)),
        heading(
            f"planned error {error_size(plan.error.total)} in L^{number(plan.p)}, asked for {number(plan.tolerance)}"
        ),
        sizes,
        table(("stage", "kind", "layers", "what it does"), stages, wrapping=("what it does",), right=("layers",)),
        _error_view(plan),
    )


def _sparse_facts(plan: Plan) -> list[tuple[str, str]]:
    if plan.pattern is None:
        return []
    return [
        ("pattern", f"{in_short(plan.pattern)}, {count(connections_of(plan))} connections a layer"),
        ("weights by", repr(plan.probability_map)),
    ]


def connections_of(plan: Plan) -> int:
    """Pairs of tokens that an attention layer connects, in the layer that has most."""
    if plan.pattern is None:
        return plan.lattice.tokens**2
    return max(seen.connections for seen in pattern_at(plan.pattern, plan.lattice.tokens).seen)


def asked(name: str, tokens: int, width: int, has_positions: bool) -> str:
    """What is approximated, in one line."""
    order = "with positions" if has_positions else "permutation equivariant"
    return f"{name} on {tokens} tokens of width {width}, {order}"


def _error_view(plan: Plan) -> RenderableType:
    parts = [
        ("variation", plan.error.variation, "the target is not constant on cells"),
        ("coincidence", plan.error.coincidence, "two tokens in one cell have no ids and are sent to 0"),
        ("rounding", plan.error.rounding, "outputs keep the bits that the ids leave"),
        ("ramps", plan.error.ramps, "the thin walls between cells"),
        ("total", plan.error.total, f"of {number(plan.tolerance)}"),
    ]
    rows = [(name, error_size(value), why) for name, value, why in parts]
    return table(("error from", "L^p norm", "because"), rows, wrapping=("because",), right=("L^p norm",))
