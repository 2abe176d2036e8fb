"""The values of programs: every step against its definition, and the same values however many inputs come at once."""

import numpy as np
import pytest

from anyformer.errors import NotTraceable
from anyformer.programs import values
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.functions import FUNCTIONS
from anyformer.programs.numbers import Number
from anyformer.programs.steps import Attend, Choice, Gate, Maximum, Minimum, Mix, Norm, Table, TokenMaximum
from anyformer.programs.values import evaluate, node_values

X = np.random.default_rng(3).uniform(0.2, 0.9, size=(4, 3, 2))
A, B = X[:, :, 0], X[:, :, 1]
SHARES = np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [0.0, 0.0, 1.0]])
OFFSETS = np.array([[0.0, -np.inf, -np.inf], [0.5, -0.25, -np.inf], [0.0, 1.0, 2.0]])


def value_of_step(step, *coordinates):
    builder = Builder(tokens=3, width=2)
    inputs = [builder.input(0), builder.input(1)]
    form = builder.node(step, *(inputs[one] for one in coordinates), is_uniform=False)
    program = builder.program(np.zeros(2), np.ones(2), [form, inputs[0]])
    outputs = evaluate(program, X)
    assert np.array_equal(outputs[:, :, 1], A)
    return outputs[:, :, 0]


def attention():
    scores = A[:, :, None] * B[:, None] + OFFSETS
    weights = np.exp(scores)
    return np.einsum("bjk,bk->bj", weights / weights.sum(axis=2, keepdims=True), B)


STEPS = {
    "maximum": (Maximum(), (0, 1), np.maximum(A, B)),
    "minimum": (Minimum(), (0, 1, 1), np.minimum(A, B)),
    "choice": (Choice(), (0, 1, 0), B),
    "norm": (Norm(), (0, 1), np.sqrt(A**2 + B**2)),
    "gate": (Gate(Table(np.array([1.0, -2.0, 0.0]))), (0,), A * [1.0, -2.0, 0.0]),
    "mix": (Mix(Table(SHARES)), (1,), np.einsum("jk,bk->bj", SHARES, B)),
    "token maximum": (TokenMaximum(), (0,), np.broadcast_to(A.max(axis=1, keepdims=True), A.shape)),
    "attend": (Attend(1, Table(OFFSETS)), (0, 1, 1), attention()),
}


@pytest.mark.parametrize(("step", "arguments", "expected"), STEPS.values(), ids=STEPS.keys())
def test_steps(step, arguments, expected):
    # A handful of roundings of numbers below 2.
    assert np.abs(value_of_step(step, *arguments) - expected).max() <= 16 * 2.0**-52


def test_every_smooth_function_has_values():
    assert set(values.FUNCTIONS) == set(FUNCTIONS) - {"power"}


@pytest.mark.parametrize("name", sorted(values.FUNCTIONS))
def test_smooth_functions_lie_in_their_enclosures(name):
    from anyformer.intervals import IntervalArray

    builder = Builder(tokens=3, width=2)
    form = builder.apply(name, builder.input(0))
    program = builder.program(np.zeros(2), np.ones(2), [form, form])
    enclosure = FUNCTIONS[name].value(IntervalArray(A, A))
    found = evaluate(program, X)[:, :, 0]
    assert ((enclosure.low <= found) & (found <= enclosure.high)).all()


def test_forms_add_up_with_constants_of_the_place():
    builder = Builder(tokens=3, width=2)
    places = Form(constant=Number(np.array([1.0, 2.0, 3.0])))
    form = builder.input(0).scaled(2.0) - builder.input(1) + places
    program = builder.program(np.zeros(2), np.ones(2), [form, form])
    assert np.abs(evaluate(program, X)[:, :, 0] - (2 * A - B + [1.0, 2.0, 3.0])).max() <= 8 * 2.0**-52


def test_pieces_make_no_difference(monkeypatch):
    builder = Builder(tokens=3, width=2)
    form = builder.attend([builder.input(0)], [builder.input(1)], builder.input(0))
    program = builder.program(np.zeros(2), np.ones(2), [form, builder.mean(form)])
    whole, nodes = evaluate(program, X), node_values(program, X)
    monkeypatch.setattr(values, "ENTRIES_AT_ONCE", 9)
    assert np.array_equal(evaluate(program, X), whole)
    assert all(np.array_equal(one, nodes[node]) for node, one in node_values(program, X).items())
    assert all(one.shape == (4, 3) for one in nodes.values())


def test_inputs_are_checked():
    builder = Builder(tokens=3, width=2)
    program = builder.program(np.zeros(2), np.ones(2), [builder.input(0), builder.input(1)])
    with pytest.raises(NotTraceable, match="the inputs of a program must have shape"):
        evaluate(program, X[:, :2])
