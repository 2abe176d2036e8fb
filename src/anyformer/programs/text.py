"""Programs in words: every step as a line that a reader can follow."""

from collections.abc import Collection
from typing import Any

from anyformer.programs.forms import Form, Node
from anyformer.programs.program import Program
from anyformer.programs.steps import (
    Absolute,
    Apply,
    Attend,
    Choice,
    Gate,
    Input,
    Maximum,
    Mean,
    Minimum,
    Mix,
    Norm,
    Product,
    Relu,
    TokenMaximum,
)

# Longer forms are cut off.
MOST_TERMS = 6


def formulas(program: Program, computed: Collection[int]) -> dict[str, Any]:
    """What the network computes, step by step, and its outputs, by the names of the steps."""
    steps = [node for node in program.nodes if node.number in computed]
    named = {name_of(node): formula(node, computed) for node in steps}
    return {"steps": named, "outputs": [text(form, computed) for form in program.outputs]}


def name_of(node: Node) -> str:
    """x0, x1, … for inputs, and the number of the step for all others.

    >>> name_of(Node(4, Mean(), (), True))
    'v4'
    """
    return f"x{node.step.coordinate}" if isinstance(node.step, Input) else f"v{node.number}"


def formula(node: Node, computed: Collection[int] | None = None) -> str:
    """The step with its arguments; arguments that the network does not compute by themselves are written out."""
    args = [text(form, computed) for form in node.args]
    match node.step:
        case Apply(function, None):
            return f"{function}({args[0]})"
        case Apply(_, exponent):
            return f"({args[0]})^{exponent:g}"
        case Relu():
            return f"max({args[0]}, 0)"
        case Absolute():
            return f"|{args[0]}|"
        case Maximum() | Minimum():
            return f"{type(node.step).__name__.lower()[:3]}({args[0]}, {args[1]})"
        case Choice():
            return f"{args[1]} if {args[0]} > 0 else {args[2]}"
        case Product():
            return " · ".join(_bracketed(arg) for arg in args)
        case Norm():
            return f"√({_bracketed(args[0])}² + {_bracketed(args[1])}²)"
        case Gate():
            return f"a factor of the place · {_bracketed(args[0])}"
        case Mean():
            return f"mean over tokens of {args[0]}"
        case Mix():
            return f"fixed mixing over tokens of {args[0]}"
        case TokenMaximum():
            return f"maximum over tokens of {args[0]}"
        case Attend(size, offsets):
            scores = " + ".join(f"({args[i]})·({args[size + i]} of the key)" for i in range(size))
            places = [] if offsets is None else ["offsets of the places"]
            return f"softmax attention to {args[-1]}, scores {' + '.join(filter(None, [scores, *places]))}"
    return name_of(node)


def text(form: Form, computed: Collection[int] | None = None) -> str:
    """A form as people write it; with `computed`, nodes that are not among them are written out.

    >>> text(Form.of(0.5))
    '0.5'
    """
    parts = [(float(number.value), _called(node, computed)) for node, number in form.terms.items()]
    shown = [_term(value, name) for value, name in parts[:MOST_TERMS]]
    if len(parts) > MOST_TERMS:
        shown.append(f"+ … ({len(parts) - MOST_TERMS} more)")
    if not form.constant.is_steady:
        shown.append("+ a constant of the place")
    elif float(form.constant.value) or not shown:
        shown.append(_term(float(form.constant.value), ""))
    joined = " ".join(shown)
    return joined[2:] if joined.startswith("+ ") else "−" + joined[2:] if joined.startswith("− ") else joined


def _called(node: Node, computed: Collection[int] | None) -> str:
    """The name of a node, or its formula if the network has it only as a part of a longer one."""
    if computed is None or node.number in computed or isinstance(node.step, Input | Minimum):
        return name_of(node)
    return _bracketed(formula(node, computed)) if isinstance(node.step, Product | Choice) else formula(node, computed)


def _term(value: float, name: str) -> str:
    sign, size = ("−" if value < 0 else "+"), f"{abs(value):.4g}"
    if not name:
        return f"{sign} {size}"
    return f"{sign} {name}" if abs(value) == 1 else f"{sign} {size}·{name}"


def _bracketed(argument: str) -> str:
    return f"({argument})" if " " in argument else argument
