"""A program as data for the page: its steps, and where the network holds each of them."""

from typing import Any

import numpy as np

from anyformer.explorer.island import packed
from anyformer.labels.programs.facts import ProgramFacts
from anyformer.programs import steps
from anyformer.programs.forms import Form, Node
from anyformer.programs.numbers import Real
from anyformer.programs.program import Program
from anyformer.programs.text import formula, name_of

# Steps of a program that a page holds, and numbers in the tables of all of them.
MOST_NODES, MOST_ENTRIES = 4_000, 300_000


def fits(program: Program) -> bool:
    """Whether a page can hold the program."""
    tables = (_table(node.step) for node in program.nodes)
    entries = sum(int(np.count_nonzero(table.values)) for table in tables if table is not None)
    return len(program.nodes) <= MOST_NODES and entries <= MOST_ENTRIES


def program_data(program: Program) -> dict[str, Any]:
    """Every step with its arguments, by the places of nodes in the list."""
    places = {node: place for place, node in enumerate(program.nodes)}
    return {
        "nodes": [_node(node, places) for node in program.nodes],
        "outputs": [_form(form, places) for form in program.outputs],
    }


def _node(node: Node, places: dict[Node, int]) -> dict[str, Any]:
    step, table = node.step, _table(node.step)
    data: dict[str, Any] = {"step": type(step).__name__, "args": [_form(form, places) for form in node.args]}
    if isinstance(step, steps.Input):
        data["coordinate"] = step.coordinate
    elif isinstance(step, steps.Apply):
        data |= {"function": step.function, "parameter": step.parameter}
    elif isinstance(step, steps.Attend):
        data["size"] = step.size
    return data if table is None else {**data, "table": packed(table.values)}


def _table(step: steps.Step) -> steps.Table | None:
    match step:
        case steps.Gate(factors):
            return factors
        case steps.Mix(shares):
            return shares
        case steps.Attend(_, offsets):
            return offsets
    return None


def _form(form: Form, places: dict[Node, int]) -> dict[str, Any]:
    terms = [[places[node], _numbers(number.value)] for node, number in form.terms.items()]
    return {"constant": _numbers(form.constant.value), "terms": terms}


def _numbers(value: Real) -> Any:
    return np.asarray(value, dtype=np.float64).tolist()


def steps_data(facts: ProgramFacts) -> list[dict[str, Any]]:
    """The steps that the network computes, in the order of its layers: how each is read, and what is proved of it."""
    places = {hint.node: hint for hint in facts.hints if not hint.is_helper}
    positions = {node: place for place, node in enumerate(facts.program.nodes)}
    found = sorted(facts.bound.own, key=lambda node: (places[node.number].layer, node.number))
    return [
        {
            "node": positions[node],
            "name": name_of(node),
            "formula": formula(node, facts.computed),
            "where": _where(facts, node.number),
            "proved": float(facts.bound.nodes[node].absolute),
            **_reading(facts, node),
        }
        for node in found
    ]


def _where(facts: ProgramFacts, number: int) -> str:
    hint = next(hint for hint in facts.hints if hint.node == number and not hint.is_helper)
    place = f"layer {hint.layer}"
    return f"{place}, {'hidden units' if hint.head is None else f'head {hint.head}'}, channel {hint.channel}"


def _reading(facts: ProgramFacts, node: Node) -> dict[str, Any]:
    reading = facts.bound.readings[node]
    row = np.broadcast_to(reading.row.value, (facts.network.stream_width,))
    return {
        "row": [[int(channel), float(row[channel])] for channel in np.flatnonzero(row)],
        "constant": _numbers(reading.constant.value),
    }
