"""Leaving out what no output needs: steps that a rewriting made superfluous."""

from anyformer.programs.forms import Node
from anyformer.programs.program import Program


def pruned(program: Program) -> Program:
    """The same program with the nodes that its outputs need, in the same order, numbered anew."""
    needed: set[Node] = set()
    waiting = [node for form in program.outputs for node in form.terms]
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += [below for form in node.args for below in form.terms]
    kept: dict[Node, Node] = {}
    for node in program.nodes:
        if node in needed:
            args = tuple(form.renamed(kept) for form in node.args)
            kept[node] = Node(len(kept), node.step, args, node.is_uniform)
    outputs = tuple(form.renamed(kept) for form in program.outputs)
    return Program(program.tokens, program.width, program.low, program.high, tuple(kept.values()), outputs)
