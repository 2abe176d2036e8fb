"""A program that does not give its function's values is caught: planted functions, and programs with changed parts."""

import numpy as np
import pytest

from anyformer.errors import NotTraceable
from anyformer.programs.forms import Form, Node
from anyformer.programs.numbers import Number
from anyformer.programs.program import Program
from anyformer.programs.steps import Apply, Attend, Gate, Mix, Relu, Table
from anyformer.programs.tracing import check_program, trace, traced_program
from anyformer.targets import target
from anyformer.targets.catalogue import ready_made
from anyformer.targets.target import Symmetry
from tests.programs.user_functions import FUNCTIONS, transformer_block


def target_of(function, tokens=3, width=4, **declared):
    return target(function, tokens=tokens, width=width, symmetry=Symmetry.NONE, name="mine", **declared)


def asks_for_its_type(x):
    return x if type(x) is np.ndarray else 2 * x


def asks_for_the_batch(x):
    return x / x.shape[0]


def asks_for_large_batches(x):
    return x + (1.0 if x.shape[0] > 20 else 0.0)


def asks_for_the_layout(x):
    # Whether reshape gives a view depends on how x lies in memory.
    y = x.reshape(x.shape[0], 3, 2, 2)
    y *= 2.0
    return x + 0.0


def catches_errors(x):
    try:
        return x[x > 0.5].sum() * x
    except Exception:
        return x


def catches_everything_and_returns_numbers(x):
    try:
        return np.asarray(x) ** 2
    except Exception:
        return x**2


def writes_through_a_transposed_view(x):
    view = x.swapaxes(1, 2)
    view[:, 0] = 0.0
    return x * 1.0


def writes_through_a_flipped_view(x):
    y = x * 2
    np.flip(y, axis=1)[:, 0] = 0.0
    return y


def uses_an_old_view(x):
    y = x * 1.0
    view = y[:, ::-1]
    y[:, 0] = 0.0
    return view


def writes_into_a_broadcast(x):
    y = np.broadcast_to(x[:, :1], x.shape)
    try:
        y += 1.0
    except ValueError:
        return x
    return y


class Toggles:
    """A function that depends on how often it was called."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x * (1.0 + self.calls % 2)


class ChangesOnce:
    """Right the first time only."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x if self.calls == 1 else x + 1e-6


PLANTED = [
    asks_for_its_type,
    asks_for_the_batch,
    asks_for_large_batches,
    asks_for_the_layout,
    catches_errors,
    catches_everything_and_returns_numbers,
    writes_through_a_transposed_view,
    uses_an_old_view,
    writes_into_a_broadcast,
    Toggles(),
    ChangesOnce(),
]


@pytest.mark.parametrize("function", PLANTED, ids=lambda one: getattr(one, "__name__", type(one).__name__))
def test_planted_functions_are_refused(function):
    with pytest.raises(NotTraceable):
        trace(target_of(function))


def test_a_write_through_a_flipped_view_is_refused():
    with pytest.raises(NotTraceable, match="may share memory with this one"):
        trace(target_of(writes_through_a_flipped_view))


def test_the_witness_is_named():
    with pytest.raises(NotTraceable) as caught:
        trace(target_of(asks_for_the_batch, tokens=2, width=1))
    said = str(caught.value)
    assert said.startswith("The target 'mine' must do the same steps for all inputs")
    assert "at token 0, coordinate 0" in said
    assert "in a batch of" in said


def test_writes_through_indices_are_followed():
    def followed(x):
        y = x * 1.0
        part = y[:, 1:]
        part += 1.0
        last = part[..., 2:]
        last[...] = 5.0
        return y + last[:, :1, :1]

    trace(target_of(followed, tokens=4))
    trace(target_of(lambda x: isinstance(x, np.ndarray) * x))


def test_isinstance_sees_an_array():
    trace(target_of(lambda x: np.square(x) if isinstance(x, np.ndarray) else x))


# Programs with one part changed


def with_node(program, place, change):
    """The program with one node changed by `change(step, args)`."""
    kept = {}
    for node in program.nodes:
        step, args = node.step, tuple(moved(form, kept) for form in node.args)
        if node.number == place:
            step, args = change(step, args)
        kept[node] = Node(node.number, step, args, node.is_uniform)
    outputs = tuple(moved(form, kept) for form in program.outputs)
    return Program(program.tokens, program.width, program.low, program.high, tuple(kept.values()), outputs)


def moved(form, kept):
    return Form({kept[node]: number for node, number in form.terms.items()}, form.constant)


def with_output(program, place, change):
    outputs = list(program.outputs)
    outputs[place] = change(outputs[place])
    return Program(program.tokens, program.width, program.low, program.high, program.nodes, tuple(outputs))


def scaled_argument(step, args):
    return step, (args[0].scaled(1 + 2.0**-20), *args[1:])


def changed_step(step, args):
    if isinstance(step, Apply):
        return Apply("sin" if step.function != "sin" else "cos"), args
    if isinstance(step, Relu):
        return Apply("tanh"), args
    if isinstance(step, Gate):
        return Gate(Table(step.factors.values * (1 + 2.0**-20))), args
    if isinstance(step, Mix):
        return Mix(Table(step.shares.values * (1 + 2.0**-20))), args
    if isinstance(step, Attend):
        return step, (*args[:-1], args[-1].scaled(1 + 2.0**-20))
    return step, (args[0].scaled(2.0), *args[1:])


BASES = ["softmax", "attention", "mean-scale", "centroid-distance", "cumulative-mean", "running-maximum", "bump"]


@pytest.mark.parametrize("name", BASES)
def test_changed_programs_are_caught(name):
    chosen = ready_made(name, tokens=3, width=2)
    program = traced_program(chosen)
    check_program(program, chosen)
    caught = 0
    for node in program.nodes[2:]:
        for change in (scaled_argument, changed_step):
            with pytest.raises(NotTraceable):
                check_program(with_node(program, node.number, change), chosen)
            caught += 1
    assert caught >= 2


def test_changes_of_a_whole_block_are_caught():
    chosen = target_of(transformer_block)
    program = traced_program(chosen)
    for node in program.nodes[4::3]:
        with pytest.raises(NotTraceable):
            check_program(with_node(program, node.number, changed_step), chosen)
    for place in range(4):
        with pytest.raises(NotTraceable):
            check_program(with_output(program, place, lambda form: form + Form.of(2.0**-25)), chosen)
        with pytest.raises(NotTraceable):
            check_program(with_output(program, place, lambda form: form.times(Number(1 - 2.0**-25))), chosen)
    swapped = Program(3, 4, program.low, program.high, program.nodes, program.outputs[::-1])
    with pytest.raises(NotTraceable):
        check_program(swapped, chosen)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_another_function_is_caught(function):
    """The program of f is not that of f plus a millionth, for any of the users' functions."""
    program = traced_program(target_of(function))
    with pytest.raises(NotTraceable):
        check_program(program, target_of(lambda x: function(x) + 1e-6))
