"""The plan of a network that interpolates: a compiled program of maxima, and the grid that it was made from."""

from dataclasses import dataclass

from anyformer.construction.plans.compiled_plan import CompiledPlan
from anyformer.programs.kuhn import node_count

# Seconds for a box that the proof cuts the domain into, for every corner of it; and for every pair of hidden units, for
# the checker reads a row of weights for each.
SECONDS_A_CORNER, SECONDS_A_PAIR = 2e-6, 2e-6


@dataclass(frozen=True, kw_only=True)
class InterpolationPlan(CompiledPlan):
    """The number of cells along every axis, and what a proof on some of them found."""

    cells: int
    expected_error: float
    """The largest error in the sup norm, as proved on a sample of the cells."""
    expected_boxes: float
    """How many boxes a proof will look at, from the same sample."""

    @property
    def nodes(self) -> int:
        """Nodes of the grid that have a hat."""
        return node_count(self.target, self.cells)

    @property
    def cells_per_axis(self) -> list[int]:
        """The cells of every coordinate of a token."""
        return [self.cells] * self.target.width

    def facts(self) -> dict[str, object]:
        """What only an interpolating network has."""
        return {**super().facts(), "cells per axis": " × ".join(map(str, self.cells_per_axis)), "nodes": self.nodes}

    @property
    def planned_error(self) -> float:
        """What the sample showed, in the norm that was asked for."""
        return self.expected_error * self.request.entries_scale

    @property
    def expected_seconds(self) -> float:
        """To build, to read the weights, and to look at boxes."""
        corners = 2.0 ** (self.target.tokens * self.target.width) * self.expected_boxes
        pairs = self.written.network.hidden_unit_count**2
        return super().expected_seconds + SECONDS_A_CORNER * corners + SECONDS_A_PAIR * pairs
