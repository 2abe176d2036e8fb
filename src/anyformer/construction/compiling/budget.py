"""Sharing the tolerance: how exactly each step must be computed so that the hidden units are fewest.

A step with the error ε_i takes about c_i/√ε_i units, and the bound of output o is about Σ S_oi·ε_i. The sum Σ c_i/√ε_i
is least for ε_i ∝ (c_i/Σ_o λ_o·S_oi)^{2/3} (Lagrange), with a price λ_o of 0 for outputs whose bound stays below the
largest. S_oi is found by differences, and again at the new ε; an output with room gets cheaper each time.
"""

import math
from collections.abc import Mapping

import numpy as np

from anyformer.certificates.programs.errors import EXACT, Error, Errors
from anyformer.construction.compiling import knots
from anyformer.construction.compiling.products import Squares
from anyformer.errors import PlanError
from anyformer.programs.forms import Node
from anyformer.programs.program import Program
from anyformer.programs.ranges import Ranges, size
from anyformer.programs.steps import Apply, Norm, Product, TokenMaximum

ROUNDS = 5
# Nodes whose error may be relative are tried one by one, if they are few.
MOST_TRIED = 12
Shares = Mapping[Node, float]


class Budget:
    """The shares of a program's nodes, for a tolerance of the largest error."""

    def __init__(self, program: Program, ranges: Ranges, nodes: list[Node], tolerance: float) -> None:
        self.program, self.ranges, self.nodes, self.tolerance = program, ranges, nodes, tolerance
        self.approximated = [node for node in nodes if self._is_approximated(node)]
        self.relative: set[Node] = set()
        self._efforts: dict[tuple[Node, bool], float] = {}
        self.shares = self._best() if self.approximated else {}

    def _is_approximated(self, node: Node) -> bool:
        return self.ranges.roots.of(node) is not None or isinstance(node.step, Product | TokenMaximum | Norm)

    def own(self, node: Node, share: float) -> Error:
        """What a share means for a node: relative where that pays."""
        if isinstance(node.step, Norm) and self.ranges.roots.of(node) is None:
            return Error(share * size(self.ranges.node(node)) * 1.01)
        if node in self.relative:
            return Error(share * size(self.ranges.node(node)), share)
        return Error(share)

    def errors(self, shares: Shares) -> Errors:
        """The errors of all nodes if each has its share."""
        errors = Errors(self.ranges)
        for node in self.nodes:
            errors.record(node, self.own(node, shares[node]) if node in shares else EXACT)
        return errors

    def totals(self, shares: Shares) -> list[float]:
        """The errors of the outputs."""
        errors = self.errors(shares)
        return [errors.form(form).absolute for form in self.program.outputs]

    def total(self, shares: Shares) -> float:
        """The largest error of an output."""
        return max(self.totals(shares))

    def units(self, shares: Shares) -> float:
        """About how many hidden units the shares ask for."""
        return sum(self.effort(node) / math.sqrt(share) for node, share in shares.items())

    def _best(self) -> dict[Node, float]:
        candidates = [node for node in self.approximated if self._may_be_relative(node)]
        best = self._lagrange()
        self.relative = set(candidates)
        everywhere = self._lagrange() if candidates else best
        if self._cost(best, set()) <= self._cost(everywhere, set(candidates)):
            self.relative = set()
        else:
            best = everywhere
        if len(candidates) <= MOST_TRIED:
            for node in candidates:
                best = self._tried(node, best)
        return best

    def _tried(self, node: Node, best: dict[Node, float]) -> dict[Node, float]:
        """The shares with one node the other way round, if that takes clearly fewer units."""
        before, cost = set(self.relative), self._cost(best, self.relative)
        self.relative ^= {node}
        other = self._lagrange()
        if self._cost(other, self.relative) < 0.98 * cost:
            return other
        self.relative = before
        return best

    def _cost(self, shares: Shares, relative: set[Node]) -> float:
        kept, self.relative = self.relative, relative
        cost = self.units(shares)
        self.relative = kept
        return cost

    def _may_be_relative(self, node: Node) -> bool:
        low, high = self.ranges.node(node)
        return isinstance(node.step, Apply) and (low > 0 or high < 0)

    def _lagrange(self) -> dict[Node, float]:
        nodes, goal = self.approximated, self.tolerance
        shares = self._scaled(dict.fromkeys(nodes, 1.0), goal)
        prices = np.ones(len(self.program.outputs))
        for _ in range(ROUNDS):
            base = np.array(self.totals(shares))
            prices = prices * base / base.max()
            shape = {}
            for node in nodes:
                more = np.array(self.totals({**shares, node: shares[node] * 1.125})) - base
                slope = max(float(prices @ more) / (shares[node] / 8), 1e-9)
                shape[node] = (self.effort(node) / slope) ** (2 / 3)
            shares = self._scaled(shape, goal)
        return shares

    def _scaled(self, shape: Shares, goal: float) -> dict[Node, float]:
        """The shares of this shape that spend the goal, up to a thousandth: the bound is nearly linear in them."""
        most = max(shape.values())
        factor = goal / len(shape) / most
        good = 0.0
        for _ in range(60):
            total = self.total({node: value * factor for node, value in shape.items()})
            if goal * 0.999 <= total <= goal:
                break
            if total <= goal:
                good = max(good, factor)
            factor *= min(max(goal / total * 0.9995, 1e-3), 16.0) if math.isfinite(total) and total > 0 else 1e-3
        else:
            factor = good
        if factor <= 0 or factor * most < 1e-250:
            raise PlanError(f"no sharing of the tolerance {goal:g} over the program's steps was found")
        return {node: value * factor for node, value in shape.items()}

    def effort(self, node: Node) -> float:
        """A node with the share ε takes about effort/√ε units in one layer."""
        key = node, node in self.relative
        if key not in self._efforts:
            self._efforts[key] = max(self._found_effort(node), 1e-3)
        return self._efforts[key]

    def _found_effort(self, node: Node) -> float:
        if self.ranges.roots.of(node) is not None:
            return knots.effort(self.ranges.curve(node), node in self.relative)
        if isinstance(node.step, Norm):
            return math.pi / 4  # K directions are off by about (π/4K)², relatively
        if isinstance(node.step, Product):
            return Squares.of(node, self.ranges).effort
        return 0.0
