"""The program of a compiled model as a graph: its steps, what each reads, and the proved error of each."""

import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.certificates.programs.bound import bound_of_program
from anyformer.errors import AnyformerError, words_of
from anyformer.pictures import (
    BLUE,
    FAINT,
    GREEN,
    ORANGE,
    PALE,
    PAPER,
    SMALL,
    WIDTH,
    bare,
    colour_map,
    in_house_style,
    new_figure,
    plain,
)
from anyformer.programs.forms import Form, Node
from anyformer.programs.program import Program
from anyformer.programs.steps import Input, Maximum, Minimum
from anyformer.programs.text import formula, name_of, text
from anyformer.programs.tracing import trace
from anyformer.reports.figures.numbers import LARGEST, at_most
from anyformer.reports.figures.subject import LeftOut, Plate, Subject
from anyformer.targets.target import Target

# More steps are not drawn; more than these, or more side by side, are drawn as dots.
MOST_STEPS = 400
MOST_BOXES, MOST_ABREAST, MOST_LANES = 24, 4, 6
LINES = 3
# More dots have no names.
MOST_NAMED = 40
TITLE = "The program"


@dataclass(frozen=True)
class GraphStep:
    """A step: what computes it (an input, a head, units, the read-out), in which row, and what it reads."""

    name: str
    formula: str
    by: str
    row: int
    reads: tuple[str, ...]
    proved: float


@dataclass(frozen=True)
class ProgramGraph:
    """Steps from the inputs in row 0 to the outputs in the last row."""

    steps: tuple[GraphStep, ...]

    @property
    def rows(self) -> list[list[GraphStep]]:
        """The steps by row; rows without any are left out."""
        places = sorted({step.row for step in self.steps})
        return [[step for step in self.steps if step.row == row] for row in places]

    @property
    def has_room(self) -> bool:
        """Whether every step can have a box with its formula."""
        return (
            len(self.steps) <= MOST_BOXES
            and max(map(len, self.rows)) <= MOST_ABREAST
            and len(_lanes(self)) <= MOST_LANES
        )


def program_graph_of(subject: Subject, target: Target) -> ProgramGraph:
    """Trace the target, and derive the error of every step again from the weights."""
    program = trace(target)
    hints = subject.certificate.hints
    bound = bound_of_program(program, subject.network, hints)
    places = {hint.node: hint for hint in hints if not hint.is_helper}
    inputs = [node for node in program.nodes if isinstance(node.step, Input)]
    steps = [GraphStep(name_of(node), "", "input", 0, (), 0.0) for node in inputs]
    for node in sorted(bound.own, key=lambda node: (places[node.number].layer, node.number)):
        hint = places[node.number]
        reads = tuple(dict.fromkeys(_read(node.args, places, program)))
        by = "units" if hint.head is None else f"head {hint.head}"
        steps.append(
            GraphStep(name_of(node), formula(node, places), by, 1 + hint.layer, reads, bound.nodes[node].absolute)
        )
    last = 1 + max((step.row for step in steps), default=0)
    for i, form in enumerate(program.outputs):
        reads = tuple(dict.fromkeys(_read((form,), places, program)))
        steps.append(GraphStep(f"y{i}", text(form, places), "read-out", last, reads, bound.largest))
    return ProgramGraph(tuple(steps))


def _read(forms: Collection[Form], computed: Collection[int], program: Program) -> Iterator[str]:
    """The computed steps that forms are made of; steps in between that no channel holds are looked through."""
    for form in forms:
        for node in form.terms:
            if isinstance(node.step, Input) or node.number in computed:
                yield name_of(node)
                continue
            if isinstance(node.step, Minimum):  # min(a, b) = a + b − max(a, b)
                yield from (name_of(one) for one in program.nodes if _is_partner(one, node) and one.number in computed)
            yield from _read(node.args, computed, program)


def _is_partner(one: Node, minimum: Node) -> bool:
    if not isinstance(one.step, Maximum):
        return False
    return {form.key() for form in one.args} == {form.key() for form in minimum.args}


COLOURS = {"input": PALE, "units": BLUE, "read-out": GREEN}


@in_house_style
def draw_program_graph(graph: ProgramGraph) -> Any:
    """From the top down: boxes with formulas, or dots if there are many steps."""
    return _draw_boxes(graph) if graph.has_room else _draw_dots(graph)


@dataclass(frozen=True)
class _Box:
    """Where a step is drawn, in inches from the upper left."""

    row: int
    x: float
    top: float
    bottom: float


# Inches: between rows, between arrows that pass rows, the widest box, and a letter.
GAP, LANE, WIDEST, LETTER = 0.4, 0.11, 2.5, 0.067


def _draw_boxes(graph: ProgramGraph) -> Any:
    from matplotlib.patches import FancyBboxPatch

    lanes = _lanes(graph)
    margin = 0.1 + LANE * len(lanes)
    wide = min(WIDEST, (WIDTH - margin) / max(map(len, graph.rows)) - 0.12)
    lines = {step.name: _lines(step, int((wide - 0.1) / LETTER)) for step in graph.steps}
    boxes = _placed(graph, lines, margin)
    tall = max(box.bottom for box in boxes.values()) + 0.05
    edge = min(box.x for box in boxes.values()) - wide / 2
    figure = new_figure(tall)
    panel = figure.subplots()
    bare(panel)
    panel.set(xlim=(0, WIDTH), ylim=(tall, 0))
    for step in graph.steps:
        box = boxes[step.name]
        height, style = box.bottom - box.top, "round,pad=0,rounding_size=0.06"
        look: dict[str, Any] = {
            "facecolor": PAPER,
            "edgecolor": COLOURS.get(step.by, ORANGE),
            "linewidth": 1.3,
            "zorder": 3,
        }
        panel.add_patch(FancyBboxPatch((box.x - wide / 2, box.top), wide, height, style, **look))
        middle = (box.x, box.top + height / 2)
        shown = "\n".join(lines[step.name])
        panel.text(*middle, shown, ha="center", va="center", fontsize=SMALL, zorder=4, linespacing=1.25)
        for read in step.reads:
            _draw_arrow(panel, boxes[read], box, edge - 0.12 - LANE * lanes.get(read, 0), 0.3 * wide)
    return figure


def _lanes(graph: ProgramGraph) -> dict[str, int]:
    """For every step that is read beyond the next row, a lane at the left for its arrows."""
    rows = {step.name: k for k, row in enumerate(graph.rows) for step in row}
    passing = [read for step in graph.steps for read in step.reads if rows[step.name] - rows[read] > 1]
    return {name: lane for lane, name in enumerate(dict.fromkeys(passing))}


def _placed(graph: ProgramGraph, lines: dict[str, list[str]], margin: float) -> dict[str, _Box]:
    boxes, top = {}, 0.05
    for number, row in enumerate(graph.rows):
        bottom = top + 0.2 + 0.16 * max(len(lines[step.name]) for step in row)
        for k, step in enumerate(row):
            boxes[step.name] = _Box(number, margin + (WIDTH - margin) * (k + 0.5) / len(row), top, bottom)
        top = bottom + GAP
    return boxes


def _draw_arrow(panel: Any, start: _Box, end: _Box, lane: float, shift: float) -> None:
    """Straight to the next row; to later ones through the gap below, down a lane at the left, and the gap above."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    if end.row - start.row == 1:
        points = [(start.x, start.bottom), (end.x, end.top)]
    else:
        points = [
            (start.x - shift, start.bottom),
            (start.x - shift, start.bottom + GAP / 3),
            (lane, start.bottom + GAP / 3),
            (lane, end.top - GAP / 2),
            (end.x - shift, end.top - GAP / 2),
            (end.x - shift, end.top),
        ]
    look: dict[str, Any] = {
        "arrowstyle": "-|>",
        "mutation_scale": 7,
        "facecolor": PALE,
        "edgecolor": PALE,
        "linewidth": 0.9,
    }
    panel.add_patch(FancyArrowPatch(path=Path(points), **look, zorder=2, shrinkA=0, shrinkB=0, joinstyle="round"))


def _lines(step: GraphStep, letters: int) -> list[str]:
    if step.by == "input":
        return [plain(step.name) + ": input"]
    whole = textwrap.wrap(f"{step.name} = {step.formula}", letters)
    if len(whole) > LINES:
        whole = [*whole[: LINES - 1], whole[LINES - 1][: letters - 2] + " …"]
    error = f"error ≤ {at_most(step.proved)}" if step.proved else "exact"
    own = [f"{step.by}: {error}"] if len(step.by) + len(error) + 2 <= letters else [step.by, error]
    return list(map(plain, [*whole, *own]))


def _draw_dots(graph: ProgramGraph) -> Any:
    rows = graph.rows
    tall = max(2.8, 0.38 * len(rows) + 1.0)
    figure = new_figure(tall)
    panel = figure.subplots()
    bare(panel)
    places = {
        step.name: ((k + 0.5) / len(row), float(number))
        for number, row in enumerate(rows)
        for k, step in enumerate(row)
    }
    for step in graph.steps:
        for read in step.reads:
            (x0, y0), (x1, y1) = places[read], places[step.name]
            panel.plot((x0, x1), (y0, y1), color=FAINT, linewidth=0.7, zorder=1)
    x, y = np.array([places[step.name] for step in graph.steps]).T
    errors = np.array([step.proved for step in graph.steps])
    smallest = errors[errors > 0].min(initial=1.0)
    powers = np.log10(np.clip(errors, smallest, LARGEST))
    drawn = panel.scatter(x, y, c=powers, cmap=colour_map(), s=34, edgecolors=PALE, linewidths=0.4, zorder=2)
    if len(graph.steps) <= MOST_NAMED:
        for step in graph.steps:
            panel.annotate(
                plain(step.name), places[step.name], xytext=(5, 3), textcoords="offset points", fontsize=SMALL
            )
    figure.colorbar(drawn, ax=panel, shrink=0.8, label="proved error, power of 10")
    labels = ["inputs", *(f"layer {row[0].row - 1}" for row in rows[1:-1]), "outputs"]
    panel.set_yticks(range(len(rows)), labels=labels)
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(rows) - 0.5, -0.5)
    return figure


def plates(subject: Subject) -> list[Plate | LeftOut]:
    """One for a compiled program whose target is known."""
    certificate = subject.certificate
    if certificate.grid is not None or certificate.cells is not None:
        return []
    if subject.target is None:
        return [LeftOut(TITLE, "the function is not known; name it with --target (target=…)")]
    if len(certificate.hints) > MOST_STEPS:
        reason = f"it has {len(certificate.hints):,} steps, and at most {MOST_STEPS} are drawn"
        return [LeftOut(TITLE, f"{reason}; anyformer describe --json lists them")]
    try:
        graph = program_graph_of(subject, subject.target)
    except AnyformerError as error:
        return [LeftOut(TITLE, f"the weights do not show it: {words_of(error)}")]
    return [Plate("program", TITLE, _caption(graph), draw_program_graph(graph))]


def _caption(graph: ProgramGraph) -> str:
    how = (
        "orange steps are computed by a head of attention, blue ones by hidden units"
        if graph.has_room
        else f"{len(graph.steps):,} steps, a dot each, row by row in the order of the layers"
    )
    return (
        f"What the network computes, from the inputs of a token down to its output: {how}. No input of the domain "
        f"makes a step's value in the network differ from the exact one by more than its error, derived from the "
        f"weights for this figure. Sums with fixed weights cost nothing: they live in the weights that read them."
    )
