"""A bound of |f − g| over the whole domain, for a target f and a table g on Kuhn's triangulation.

Cut a cell into equal parts along every axis. Kuhn's triangulation of the parts refines that of the cell: its walls
xᵢ = k and xᵢ − xⱼ = k are those of the cell and more. So g is linear on the simplices of every part, and at a point of
such a simplex f − g is (f − its linear interpolation there) + (the interpolation of f − g): at most the departure of f
on the part plus the largest |f − g| at its corners. Parts whose bound is still too large are cut again.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.certificates.bounds.modulus_bound import UNDERFLOWN
from anyformer.certificates.interpolation.knowledge import Knowledge
from anyformer.certificates.propagation.enclosures import up
from anyformer.errors import NotShown
from anyformer.programs.kuhn import Interpolant

# Corners of all boxes that cells may be cut into, for every axis.
MOST_CORNERS = 1 << 23
# Once the bound is small enough, boxes are cut further to come closer to the truth, while they have fewer corners.
CHEAP_CORNERS = 1 << 18
# Corners, times the derivatives that each output has, that are held at once.
ENTRIES_AT_ONCE = 1 << 21
# A box is not cut more often than this along an axis; corners then still differ in float64.
MOST_PARTS = 1 << 20


@dataclass(frozen=True, eq=False)
class InterpolationBound:
    """|f − g| is at most `upper` everywhere and at least `lower` at `worst_input`; `boxes` were looked at."""

    upper: float
    lower: float
    worst_input: Array
    boxes: int


def interpolation_bound(
    table: Interpolant,
    knowledge: Knowledge,
    goal: float,
    tightness: float,
    most_boxes: int = MOST_CORNERS,
    start: Integers | None = None,
) -> InterpolationBound:
    """Cut boxes until |f − g| is at most the goal and within the factor `tightness` of what was seen, or is seen not
    to be, or there are too many boxes.

    `start` has the cells to look at, (cells, tokens, width); all of them if it is None. Raises NotShown if there are
    too many.
    """
    axes = table.target.tokens * table.target.width
    most, cheap = min(most_boxes, box_limit(axes)), CHEAP_CORNERS >> axes
    boxes = _cells(table, knowledge, most) if start is None else start
    state = _State(table, knowledge)
    while True:
        bounds = state.look(boxes)
        highest = max(state.settled, float(bounds.max(initial=0.0)))
        wanted = min(goal, tightness * state.lower)
        if highest <= goal and state.count > cheap:
            wanted = goal
        waiting = bounds > wanted
        more = int(waiting.sum()) << axes
        is_over = not waiting.any() or state.lower > goal or 2 * state.parts > MOST_PARTS
        if is_over or state.count + more > (cheap if highest <= goal else most):
            return InterpolationBound(highest, max(state.lower, 0.0), state.worst_input, state.count)
        state.settled = max(state.settled, float(bounds[~waiting].max(initial=0.0)))
        state.parts *= 2
        boxes = _halved(boxes[waiting])


def box_limit(axes: int) -> int:
    """Boxes that a proof may look at: each has two corners along every axis, and derivatives along every axis."""
    return MOST_CORNERS // (axes << axes)


def cell_count(table: Interpolant, is_symmetric: bool) -> int:
    """Cells to look at: one order of the tokens stands for all if f and g are known to be symmetric."""
    columns, tokens = table.cells**table.target.width, table.target.tokens
    return math.comb(columns + tokens - 1, tokens) if is_symmetric else columns**tokens


def _cells(table: Interpolant, knowledge: Knowledge, most: int) -> Integers:
    is_symmetric = knowledge.is_symmetric and table.is_equivariant
    if (count := cell_count(table, is_symmetric)) > most:
        raise NotShown(f"the proof needs {count:,} cells, and {most:,} are allowed")
    columns = range(table.cells**table.target.width)
    rows = (
        itertools.combinations_with_replacement(columns, table.target.tokens)
        if is_symmetric
        else itertools.product(columns, repeat=table.target.tokens)
    )
    codes = np.array(list(rows), dtype=np.int64)
    return np.stack(np.unravel_index(codes, (table.cells,) * table.target.width), axis=-1)


def _halved(boxes: Integers) -> Integers:
    """Every box in two along every axis."""
    corners = _corners(boxes.shape[1:])
    return (2 * boxes[:, None] + corners).reshape(-1, *boxes.shape[1:])


def _corners(shape: tuple[int, ...]) -> Integers:
    """The corners of the unit box."""
    return np.array(list(itertools.product((0, 1), repeat=math.prod(shape))), dtype=np.int64).reshape(-1, *shape)


@dataclass(eq=False)
class _State:
    """What was seen so far. Boxes have whole numbers for corners, in units of a cell divided by `parts`."""

    table: Interpolant
    knowledge: Knowledge
    parts: int = 1
    settled: float = 0.0
    lower: float = 0.0
    count: int = 0
    worst_input: Array = field(init=False)

    def __post_init__(self) -> None:
        target = self.table.target
        self.low, self.high = target.domain.lows(target.width), target.domain.highs(target.width)
        self.worst_input = np.broadcast_to((self.low + self.high) / 2, (target.tokens, target.width)).copy()

    def look(self, boxes: Integers) -> Array:
        """A bound of |f − g| on every box."""
        self.count += len(boxes)
        return np.concatenate([self._look(boxes[piece]) for piece in _pieces(boxes)])

    def _look(self, boxes: Integers) -> Array:
        corners = boxes[:, None] + _corners(boxes.shape[1:])
        points, where = _different(corners.reshape(-1, *boxes.shape[1:]), self.table.cells * self.parts + 1)
        ends = self._ends(points)
        f_low, f_high = self.knowledge.values(*ends)
        g = self.table.at(points, self.parts)
        slack = self.table.rounding + 2.0**-52 * np.abs(g)
        with np.errstate(invalid="ignore"):
            most = up(up(np.maximum(f_high - g, g - f_low)) + slack)
            least = np.maximum(f_low - g, g - f_high) * (1 - 2.0**-50) - slack
        self._note(least, ends[0])
        at_corners = most[where].reshape(len(boxes), -1, *boxes.shape[1:]).max(axis=1)
        low, _ = self._ends(boxes)
        _, high = self._ends(boxes + 1)
        bound = up(at_corners + self.knowledge.departures(low, high)).max(axis=(1, 2))
        return np.where(np.isnan(bound), np.inf, bound)

    def _note(self, least: Array, points: Array) -> None:
        by_input = np.where(np.isfinite(least), least, 0.0).max(axis=(1, 2), initial=0.0)
        if len(by_input) and by_input.max() > self.lower:
            self.lower, self.worst_input = float(by_input.max()), points[int(by_input.argmax())]

    def _ends(self, points: Integers) -> tuple[Array, Array]:
        """Floats around low + (high − low)·point/(cells·parts), within the domain.

        A quotient, a difference, a product and a sum, each rounded: off by less than 8·2⁻⁵³ of the size of the ends.
        """
        share = points / (self.table.cells * self.parts)
        near = self.low + share * (self.high - self.low)
        off = 8 * 2.0**-52 * np.maximum(np.abs(self.low), np.abs(self.high)) + UNDERFLOWN
        return np.clip(near - off, self.low, self.high), np.clip(near + off, self.low, self.high)


def _different(points: Integers, side: int) -> tuple[Integers, Integers]:
    """The points without repetition, and for each where it is among them."""
    flat = points.reshape(len(points), -1)
    if flat.shape[1] * math.log2(side) >= 62:
        found, where = np.unique(flat, axis=0, return_inverse=True)
        return found.reshape(-1, *points.shape[1:]), where.ravel()
    _, first, where = np.unique(
        np.ravel_multi_index(tuple(flat.T), (side,) * flat.shape[1]), return_index=True, return_inverse=True
    )
    return points[first], where.ravel()


def _pieces(boxes: Integers) -> Iterator[slice]:
    """So many boxes at a time that their corners and derivatives stay within the limit."""
    axes = boxes.shape[1] * boxes.shape[2]
    at_once = max(1, ENTRIES_AT_ONCE // (2**axes + axes * axes) // axes)
    for start in range(0, max(len(boxes), 1), at_once):
        yield slice(start, start + at_once)
