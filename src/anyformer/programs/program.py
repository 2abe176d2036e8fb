"""A traced function: its nodes in order, and its outputs as forms over them."""

from collections.abc import Sequence
from dataclasses import dataclass

from anyformer.arrays import Array
from anyformer.programs.forms import Form, Node


@dataclass(frozen=True, eq=False)
class Program:
    """What a function computes, the same steps for every token.

    low, high: the domain of every coordinate, (width,).
    nodes: in the order in which they were met; the arguments of a node come before it.
    outputs: one form per coordinate.
    """

    tokens: int
    width: int
    low: Array
    high: Array
    nodes: Sequence[Node]
    outputs: Sequence[Form]
