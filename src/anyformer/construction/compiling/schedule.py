"""Which nodes a network has to compute, and in which layer each."""

from collections.abc import Mapping
from types import MappingProxyType

from anyformer.programs.forms import Form, Node
from anyformer.programs.program import Program
from anyformer.programs.roots import Roots
from anyformer.programs.steps import Input, Minimum


def sources(node: Node, roots: Roots) -> tuple[Form, ...]:
    """The forms from which a node is computed: its root if it has one, else its arguments."""
    root = roots.of(node)
    return node.args if root is None else (root,)


def needed(program: Program, roots: Roots) -> list[Node]:
    """The nodes that the outputs depend on, in order."""
    found: set[Node] = set()
    waiting = [node for form in program.outputs for node in form.terms]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [inner for form in sources(node, roots) for inner in form.terms]
    return sorted(found, key=lambda node: node.number)


def times(nodes: list[Node], roots: Roots, depths: Mapping[Node, int] = MappingProxyType({})) -> dict[Node, int]:
    """0: in the embedding; 2b − 1: in the attention of block b; 2b: in its feed-forward layer. As early as possible.

    A node of depth L takes L feed-forward layers; its time is that of the last.
    """
    time: dict[Node, int] = {}
    for node in nodes:
        ready = max((time[inner] for form in sources(node, roots) for inner in form.terms), default=0)
        if isinstance(node.step, Input):
            time[node] = 0
        elif isinstance(node.step, Minimum) and roots.of(node) is None:
            time[node] = ready  # a + b − max(a, b) is affine
        elif node.step.mixes:
            time[node] = ready + 1 if ready % 2 == 0 else ready + 2
        else:
            time[node] = ready + 2 * depths.get(node, 1) - ready % 2
    return time
