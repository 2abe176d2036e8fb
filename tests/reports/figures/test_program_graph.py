"""The program as a graph: its steps, errors and arrows are those of the proof."""

from dataclasses import replace

import pytest

import anyformer as af
from anyformer.reports.figures import program_graph
from anyformer.reports.figures.program_graph import draw_program_graph, plates, program_graph_of
from anyformer.reports.figures.subject import LeftOut, Subject
from anyformer.reports.tracing.program_trace import trace_program


@pytest.mark.parametrize("name", ["softmax", "power_sums", "running_maximum"])
def test_steps_and_errors_are_those_of_the_trace(name, request):
    subject = request.getfixturevalue(name)
    graph = program_graph_of(subject, subject.target)
    x = subject.target.domain.lows(subject.network.width) + 0 * subject.model(_zeros(subject))
    traced = trace_program(subject.network, subject.certificate, subject.target, x)
    computed = [step for step in graph.steps if step.by not in ("input", "read-out")]
    assert [(step.name, step.formula, step.proved) for step in computed] == [
        (step.name, step.formula, step.proved) for step in traced.steps
    ]
    outputs = [step for step in graph.steps if step.by == "read-out"]
    assert [step.proved for step in outputs] == [traced.proved] * subject.network.width


def _zeros(subject: Subject) -> list[list[float]]:
    return [[0.0] * subject.network.width] * subject.network.tokens


def test_arrows_say_what_a_step_reads(softmax):
    reads = {step.name: step.reads for step in program_graph_of(softmax, softmax.target).steps}
    assert reads == {"x0": (), "v1": ("x0",), "v2": ("v1",), "v3": ("v2",), "v4": ("x0", "v3"), "y0": ("v4",)}


@pytest.mark.parametrize("name", ["softmax", "power_sums", "running_maximum"])
def test_every_step_is_reached_from_an_input_and_read_later(name, request):
    subject = request.getfixturevalue(name)
    graph = program_graph_of(subject, subject.target)
    rows = {step.name: step.row for step in graph.steps}
    for step in graph.steps:
        assert (step.by == "input") == (not step.reads)
        assert all(rows[read] < step.row for read in step.reads)
    read = {name for step in graph.steps for name in step.reads}
    assert {step.name for step in graph.steps if step.by != "read-out"} == read


def test_few_steps_are_boxes_with_formula_and_error(softmax):
    graph = program_graph_of(softmax, softmax.target)
    assert graph.has_room
    (panel,) = draw_program_graph(graph).axes
    texts = [text.get_text() for text in panel.texts]
    assert texts[1].startswith("v1 = exp(3·x0)\nunits: error ≤ 0.")
    assert len(texts) == len(graph.steps)
    arrows = sum(len(step.reads) for step in graph.steps)
    assert len(panel.patches) == len(graph.steps) + arrows


def test_many_steps_are_dots(softmax, monkeypatch):
    monkeypatch.setattr(program_graph, "MOST_BOXES", 3)
    graph = program_graph_of(softmax, softmax.target)
    assert not graph.has_room
    panel, _ = draw_program_graph(graph).axes
    assert len(panel.collections[0].get_offsets()) == len(graph.steps)
    assert len(panel.lines) == sum(len(step.reads) for step in graph.steps)


def test_what_is_not_shown_says_why(softmax, table, interpolant, monkeypatch):
    assert plates(table) == plates(interpolant) == []
    (unknown,) = plates(Subject(softmax.model, None, None))
    assert "the function is not known" in unknown.reason
    hints = softmax.certificate.hints
    wrong = replace(softmax.certificate, hints=(replace(hints[0], channel=hints[0].channel + 1), *hints[1:]))
    (doubtful,) = plates(Subject(af.Model(softmax.network, wrong), softmax.target, None))
    assert isinstance(doubtful, LeftOut)
    assert doubtful.reason.startswith("the weights do not show it")
    monkeypatch.setattr(program_graph, "MOST_STEPS", 2)
    (long,) = plates(softmax)
    assert "at most 2 are drawn" in long.reason
