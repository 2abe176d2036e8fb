"""The values of a program in plain float64: what each node is for given inputs."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from anyformer.arrays import Array, as_sequences
from anyformer.errors import NotTraceable
from anyformer.programs import steps
from anyformer.programs.forms import Form, Node
from anyformer.programs.program import Program

# A head makes (batch, tokens, tokens) arrays; inputs are taken so many at a time that they stay below this.
ENTRIES_AT_ONCE = 2**22

Values = Mapping[Node, Array]
Rounding = Callable[[Array], Array]


def evaluate(program: Program, x: Array, rounding: Rounding | None = None) -> Array:
    """The outputs for inputs (batch, tokens, width), of the same shape.

    `rounding`, if given, is applied to the values of every node: with it one sees what rounding errors do.
    """
    x = as_sequences(x, program.tokens, program.width, NotTraceable, "the inputs of a program")
    outputs = np.empty_like(x)
    for piece in _pieces(program, len(x)):
        values = _node_values(program, x[piece], rounding)
        for coordinate, form in enumerate(program.outputs):
            outputs[piece, :, coordinate] = value_of(form, values, x[piece].shape[:2])
    return outputs


def node_values(program: Program, x: Array) -> dict[Node, Array]:
    """The value of every node for inputs (batch, tokens, width): an array (batch, tokens) each."""
    x = as_sequences(x, program.tokens, program.width, NotTraceable, "the inputs of a program")
    parts = [_node_values(program, x[piece], None) for piece in _pieces(program, len(x))]
    return {node: np.concatenate([part[node] for part in parts]) for node in program.nodes}


def value_of(form: Form, values: Values, shape: tuple[int, int]) -> Array:
    """The value of a form, (batch, tokens), from those of the nodes."""
    total = np.broadcast_to(np.asarray(form.constant.value, dtype=np.float64), shape).copy()
    for node, number in form.terms.items():
        total += number.value * values[node]
    return total


def _pieces(program: Program, batch: int) -> list[slice]:
    at_once = max(1, ENTRIES_AT_ONCE // program.tokens**2)
    return [slice(start, start + at_once) for start in range(0, max(batch, 1), at_once)]


def _node_values(program: Program, x: Array, rounding: Rounding | None) -> dict[Node, Array]:
    values: dict[Node, Array] = {}
    shape = x.shape[:2]
    # Overflow and steps without a value show in the outputs.
    with np.errstate(all="ignore"):
        for node in program.nodes:
            if isinstance(node.step, steps.Input):
                value = x[:, :, node.step.coordinate].copy()
            else:
                args = [value_of(form, values, shape) for form in node.args]
                value = np.broadcast_to(_STEPS[type(node.step)](node.step, *args), shape)
            values[node] = value if rounding is None else rounding(value)
    return values


def _apply(step: steps.Apply, u: Array) -> Array:
    if step.function == "power":
        assert step.parameter is not None
        powered: Array = u**step.parameter
        return powered
    result: Array = FUNCTIONS[step.function](u)
    return result


def _choice(step: steps.Choice, condition: Array, yes: Array, no: Array) -> Array:
    return np.where(condition > 0, yes, no)


def _attend(step: steps.Attend, *args: Array) -> Array:
    queries, keys, value = args[: step.size], args[step.size : 2 * step.size], args[-1]
    offsets = np.zeros(1) if step.offsets is None else step.offsets.values
    scores = np.zeros((len(value), value.shape[1], value.shape[1])) + offsets
    for query, key in zip(queries, keys, strict=True):
        scores += query[:, :, None] * key[:, None, :]
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    mixed: Array = (weights @ value[:, :, None])[:, :, 0] / weights.sum(axis=2)
    return mixed


def _erf(u: Array) -> Array:
    from scipy.special import erf

    result: Array = erf(u)
    return result


def _sigmoid(u: Array) -> Array:
    result: Array = 0.5 * (1.0 + np.tanh(0.5 * u))
    return result


FUNCTIONS: Final[dict[str, Callable[[Array], Any]]] = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "sqrt", "reciprocal", "square", "tanh")},
    **{name: getattr(np, name) for name in ("sinh", "cosh", "sin", "cos", "arctan", "arcsinh")},
    "sigmoid": _sigmoid,
    "erf": _erf,
}

_STEPS: Final[dict[type, Callable[..., Array]]] = {
    steps.Apply: _apply,
    steps.Relu: lambda step, a: np.maximum(a, 0.0),
    steps.Absolute: lambda step, a: np.abs(a),
    steps.Maximum: lambda step, a, b: np.maximum(a, b),
    steps.Minimum: lambda step, a, b, larger: np.minimum(a, b),
    steps.Choice: _choice,
    steps.Product: lambda step, a, b: a * b,
    steps.Norm: lambda step, a, b: np.hypot(a, b),
    steps.Gate: lambda step, a: a * step.factors.values,
    steps.Mean: lambda step, a: a.mean(axis=1, keepdims=True),
    steps.Mix: lambda step, a: a @ step.shares.values.T,
    steps.TokenMaximum: lambda step, a: a.max(axis=1, keepdims=True),
    steps.Attend: _attend,
}
