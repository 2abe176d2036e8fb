"""How many layers each node gets, so that the network has few parameters.

A unit costs a row and a column over the stream, and a helper channel widens the stream for all units: depth pays where
a node would have many units in one layer. Depths are improved node by node, the largest first, as long as that pays:
once from a shallow network and once from a deep one. The helpers of one node cost the units of all others, so that
nodes which pay together may not pay one by one.
"""

import math
from dataclasses import dataclass, field

from anyformer.certificates.programs.errors import Errors
from anyformer.construction.compiling.budget import Budget
from anyformer.construction.compiling.deep_squares import Quadratic
from anyformer.construction.compiling.deep_steps import helper_count
from anyformer.construction.compiling.products import Squares
from anyformer.construction.compiling.schedule import times
from anyformer.programs.forms import Node
from anyformer.programs.steps import Product

MOST_DEPTH = 8
# Where the search from deep networks starts.
USUAL_DEPTH = 3
# Nodes with fewer units than these are left alone, and no more nodes than these are tried.
LEAST_UNITS, MOST_TRIED = 16, 64


@dataclass(eq=False)
class Depths:
    """The depths of a program's nodes; 1 where nothing is said."""

    budget: Budget
    width: int
    """Of the stream, without helpers."""
    rows_a_channel: int
    """How many numbers a channel costs beside those in layers: embedding, read-out, positions."""
    squares: dict[Node, list[Quadratic]] = field(default_factory=dict)
    of: dict[Node, int] = field(default_factory=dict)

    def choose(self) -> None:
        """Deepen nodes as long as that pays."""
        errors = self.budget.errors(self.budget.shares)
        for node in self.budget.shares:
            if self._units(node) >= LEAST_UNITS:
                found = self._quadratics(node, errors)
                if found:
                    self.squares[node] = found
        tried = sorted(self.squares, key=self._units, reverse=True)[:MOST_TRIED]
        starts: tuple[dict[Node, int], ...] = ({}, dict.fromkeys(tried, USUAL_DEPTH))
        self.of = min((self._improved(start, tried) for start in starts), key=self._cost)

    def _improved(self, depths: dict[Node, int], tried: list[Node]) -> dict[Node, int]:
        for node in tried * 2:
            cost = {depth: self._cost({**depths, node: depth}) for depth in range(1, MOST_DEPTH + 1)}
            depths = {**depths, node: min(cost, key=lambda depth: (cost[depth], depth))}
        return {node: depth for node, depth in depths.items() if depth > 1}

    def _quadratics(self, node: Node, errors: Errors) -> list[Quadratic]:
        ranges = self.budget.ranges
        if node in self.budget.relative:
            return []
        root = ranges.roots.of(node)
        if root is not None:
            parts = [(root, ranges.curve(node))]
        elif isinstance(node.step, Product):
            squares = Squares.of(node, ranges)
            parts = list(zip(squares.sums, squares.curves(), strict=True))
        else:
            return []
        found = [Quadratic.of(form, curve, errors.form(form).absolute) for form, curve in parts]
        return [one for one in found if one is not None] if None not in found else []

    def _units(self, node: Node, depth: int = 1) -> int:
        share = self.budget.shares[node]
        if depth == 1:
            return math.ceil(self.budget.effort(node) / math.sqrt(share))
        squares = self.squares[node]
        return sum(depth * square.pieces(share / len(squares), depth) for square in squares)

    def _cost(self, depths: dict[Node, int]) -> int:
        """About how many parameters the network has."""
        nodes, roots = self.budget.nodes, self.budget.ranges.roots
        helpers = sum(helper_count(len(self.squares[node]), depth) for node, depth in depths.items())
        width = self.width + helpers
        units = sum(self._units(node, depths.get(node, 1)) for node in self.budget.shares)
        time = times(nodes, roots, depths)
        layers = {time[node] - 2 * k for node in nodes for k in range(depths.get(node, 1)) if time[node] % 2 == 0}
        heads = sum(node.step.mixes for node in nodes)
        return units * (2 * width + 1) + len(layers) * width + heads * (4 * width + 1) + self.rows_a_channel * width
