"""Words for the steps of a program."""

from anyformer.programs.forms import Node
from anyformer.programs.roots import Roots
from anyformer.programs.steps import Apply, Attend, Input, Mean, Mix, Product, TokenMaximum


def step_of(node: Node, roots: Roots) -> str:
    """What kind of step a node is, in a word or two.

    A product of functions of one number, such as x·tanh(x), is a curve and no product: one polyline computes it.
    """
    match node.step:
        case Apply(function, _):
            return function
        case Input():
            return "input"
        case Mean():
            return "mean"
        case Mix():
            return "mixing"
        case TokenMaximum():
            return "token maximum"
        case Attend():
            return "attention"
        case Product():
            return "product" if roots.of(node) is None else "curve"
    return type(node.step).__name__.lower()
