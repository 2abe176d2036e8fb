"""Words for the steps of a program."""

from collections.abc import Collection

import numpy as np

from anyformer.arrays import Array
from anyformer.programs.forms import Node
from anyformer.programs.roots import Roots
from anyformer.programs.steps import Apply, Attend, Input, Mean, Mix, Product, TokenMaximum
from anyformer.programs.text import formula, name_of

# Copies from more tokens than these are not listed one by one.
MOST_SOURCES = 16


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


def said(node: Node, computed: Collection[int]) -> str:
    """A node with its formula; of a mixing that copies tokens also which."""
    words = f"{name_of(node)} = {formula(node, computed)}"
    return f"{words}: {mixing_words(node.step.shares.values)}" if isinstance(node.step, Mix) else words


def mixing_words(shares: Array) -> str:
    """Which token each token gets, from the shares (tokens, tokens) of a fixed mixing.

    >>> mixing_words(np.eye(3)[[2, 0, 1]])
    'every token gets the one 1 before it, round about'
    """
    tokens = len(shares)
    if not (shares.max(axis=1) == 1).all():
        return "every token gets fixed shares of others"
    sources = shares.argmax(axis=1)
    if (sources == sources[0]).all():
        return f"all tokens get token {sources[0]}"
    back = (np.arange(tokens) - sources) % tokens
    if (back == back[0]).all():
        return f"every token gets the one {back[0]} before it, round about"
    listed = ", ".join(map(str, sources.tolist()[:MOST_SOURCES])) + (", …" if tokens > MOST_SOURCES else "")
    return f"tokens get tokens {listed}, in this order"
