"""Piecewise-linear interpolation on Kuhn's triangulation, as a table and as a program of maxima.

A grid has N cells along every axis. Kuhn cuts a cell into simplices: x, with base b and fractions t in its cell, lies
in the simplex whose corners are b, then b moved by one cell along the axis of the largest fraction, then along the
next, and so on. The interpolant is linear on every simplex. The *hat* of a node v, the interpolant that is 1 at v and 0
at all other nodes, is

    max(0, 1 − max(0, max_i zᵢ) − max(0, max_i −zᵢ)),  z = N·(x − low)/(high − low) − v.

Proof: it is positive only if all zᵢ lie in an open interval of length 1 that holds 0, so only on simplices that touch
v; there it is linear, 1 at v, and 0 at their other corners, where the largest zᵢ is 1 or the smallest is −1.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from reprlib import repr as shortened

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.program import Program
from anyformer.programs.sorting import sorted_lines
from anyformer.targets.target import Symmetry, Target

# A node takes about three hidden units and three channels, and weights are matrices of units by channels.
MOST_NODES = 2048
# A box has two corners along every axis.
MOST_AXES = 10
# Inputs of a target that are evaluated at once.
AT_ONCE = 1 << 15


def node_count(target: Target, cells: int) -> int:
    """Hats that the interpolant has. Others of an equivariant function are sorted, if a token is one number."""
    if _sorts(target):
        return (cells + 1) * math.comb(cells + target.tokens - 1, target.tokens - 1)
    return int((cells + 1) ** (target.tokens * target.width))


def _sorts(target: Target) -> bool:
    return target.symmetry is Symmetry.EQUIVARIANT and target.width == 1


@dataclass(frozen=True, eq=False)
class Interpolant:
    """The piecewise-linear function with given numbers at the nodes of a grid.

    Of an equivariant function it holds what the first token becomes, by the token itself and the others in any order.
    A token on the grid is one whole number, its *code*; a node is a row of codes, and a row is one whole number again.

    keys: of the nodes with a number of their own, ascending; others differ from one of these in their order.
    values: the numbers, (keys, output tokens, width); one output token for an equivariant function, else all.
    """

    target: Target
    cells: int
    keys: Integers
    values: Array

    @property
    def is_equivariant(self) -> bool:
        """Whether every token is treated as the first one is."""
        return self.target.symmetry is Symmetry.EQUIVARIANT

    @property
    def rounding(self) -> float:
        """By how much `at` may be off: a product, a sum and a division for every corner of a simplex."""
        axes = self.target.tokens * self.target.width
        return 2 * (axes + 4) * 2.0**-52 * float(np.abs(self.values).max())

    def numbers(self, nodes: Integers) -> Array:
        """The numbers at nodes (batch, tokens, width)."""
        found: Array = self.values[np.searchsorted(self.keys, _keys(self.target, self.cells, nodes))]
        return found

    def at(self, points: Integers, parts: int) -> Array:
        """The values at points (batch, tokens, width) of the grid whose cells are cut into `parts`, a power of two.

        Up to `rounding`: fractions and weights are exact.
        """
        if not self.is_equivariant:
            return self._first(points, parts)
        views = [np.roll(points, -token, axis=1) for token in range(points.shape[1])]
        return np.concatenate([self._first(view, parts) for view in views], axis=1)

    def _first(self, points: Integers, parts: int) -> Array:
        flat = points.reshape(len(points), -1)
        corner = np.minimum(flat // parts, self.cells - 1)
        fractions = flat - parts * corner
        order = np.argsort(-fractions, axis=1, kind="stable")
        falling = np.take_along_axis(fractions, order, axis=1)
        edges = np.full((len(flat), 1), parts), np.zeros((len(flat), 1), dtype=np.int64)
        weights = -np.diff(np.concatenate([edges[0], falling, edges[1]], axis=1), axis=1) / parts
        total = weights[:, :1, None] * self.numbers(corner.reshape(points.shape))
        for step in range(flat.shape[1]):
            corner[np.arange(len(flat)), order[:, step]] += 1
            total += weights[:, step + 1, None, None] * self.numbers(corner.reshape(points.shape))
        return total


def interpolant(target: Target, cells: int) -> Interpolant:
    """The target's values at the nodes. Any numbers there would do: a proof compares them with the target."""
    check_size(target, cells)
    codes = _codes(target, cells)
    places = np.stack(np.unravel_index(codes, (cells + 1,) * target.width), axis=-1)
    keys = _keys(target, cells, places)
    order = np.argsort(keys)
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    rows = slice(0, 1) if target.symmetry is Symmetry.EQUIVARIANT else slice(None)
    parts = []
    for start in range(0, len(order), AT_ONCE):
        share = places[order[start : start + AT_ONCE]] / cells
        parts.append(target(np.clip(low + share * (high - low), low, high))[:, rows])
    return Interpolant(target, cells, keys[order], np.concatenate(parts))


def check_size(target: Target, cells: int) -> None:
    """Refuse tables that are too large to be built."""
    axes = target.tokens * target.width
    if not 1 <= cells <= MOST_NODES or axes > MOST_AXES or node_count(target, cells) > MOST_NODES:
        raise NotTraceable(
            f"an interpolant must have at least one cell an axis, at most {MOST_AXES} axes and at most {MOST_NODES:,} "
            f"nodes; asked for were {shortened(cells)} cells an axis on {axes} axes. Ask for a larger tolerance, fewer "
            f"tokens or a smaller width"
        )


def _codes(target: Target, cells: int) -> Integers:
    """The nodes that have numbers of their own, as codes of tokens (nodes, tokens)."""
    every = range((cells + 1) ** target.width)
    if target.symmetry is not Symmetry.EQUIVARIANT:
        return np.array(list(itertools.product(every, repeat=target.tokens)), dtype=np.int64)
    others = itertools.combinations_with_replacement(every, target.tokens - 1)
    return np.array([(own, *rest) for rest in others for own in every], dtype=np.int64)


def _keys(target: Target, cells: int, nodes: Integers) -> Integers:
    """One whole number for each node. If f is equivariant, the order of the other tokens makes no difference."""
    base = (cells + 1) ** target.width
    codes = np.zeros(nodes.shape[:2], dtype=np.int64)
    for coordinate in range(target.width):
        codes = codes * (cells + 1) + nodes[:, :, coordinate]
    if target.symmetry is Symmetry.EQUIVARIANT:
        codes[:, 1:] = np.sort(codes[:, 1:], axis=1)
    keys = np.zeros(len(nodes), dtype=np.int64)
    for token in range(target.tokens):
        keys = keys * base + codes[:, token]
    return keys


def interpolant_program(target: Target, cells: int) -> Program:
    """The interpolant of the target as a program: copies of tokens, maxima, hats."""
    return program_of(interpolant(target, cells))


def program_of(table: Interpolant) -> Program:
    """A table as a program that computes it exactly, for all inputs of the domain."""
    target, cells = table.target, table.cells
    builder = Builder(target.tokens, target.width)
    hats = _Hats(builder, _scaled_lines(builder, target, cells), cells)
    nodes = _listed(target, cells)
    numbers = table.numbers(nodes)
    made = [hats.hat(tuple(node)) for node in nodes.reshape(len(nodes), -1).tolist()]
    outputs = [_output(builder, made, numbers[:, :, coordinate]) for coordinate in range(target.width)]
    return builder.program(target.domain.lows(target.width), target.domain.highs(target.width), outputs)


def _listed(target: Target, cells: int) -> Integers:
    """All nodes that need a hat, (nodes, tokens, width)."""
    if _sorts(target):
        return _codes(target, cells)[:, :, None]
    axes = itertools.product(range(cells + 1), repeat=target.tokens * target.width)
    return np.array(list(axes), dtype=np.int64).reshape(-1, target.tokens, target.width)


def _scaled_lines(builder: Builder, target: Target, cells: int) -> list[Form]:
    """All inputs as every token sees them, in units of cells: from 0 to `cells`."""
    tokens, own = target.tokens, [builder.input(k) for k in range(target.width)]
    if target.symmetry is Symmetry.EQUIVARIANT:
        # In relative order, the token itself first: it is ready before the others are copied and sorted.
        lines = [[builder.shift(x, (np.arange(tokens) + r) % tokens) for x in own] for r in range(1, tokens)]
        if _sorts(target):
            lines = [[line] for line in sorted_lines(builder, [line for (line,) in lines])]
        lines = [own, *lines]
    else:
        lines = [[builder.shift(x, np.full(tokens, token)) for x in own] for token in range(tokens)]
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    scales = [Fraction(cells) / (Fraction(float(b)) - Fraction(float(a))) for a, b in zip(low, high, strict=True)]
    offsets = [-Fraction(float(a)) * scale for a, scale in zip(low, scales, strict=True)]
    return [
        x.times(_number(scale)) + Form(constant=_number(offset))
        for line in lines
        for x, scale, offset in zip(line, scales, offsets, strict=True)
    ]


def _number(exact: Fraction) -> Number:
    """The nearest float64, and how far it is from the exact number."""
    value = float(exact)
    doubt = abs(exact - Fraction(value))
    return Number(value, math.nextafter(float(doubt), math.inf) if doubt else 0.0)


class _Hats:
    """Hats of nodes. The chains of maxima of nodes with a common beginning are the same nodes of the program."""

    def __init__(self, builder: Builder, lines: list[Form], cells: int) -> None:
        self.builder, self.lines, self.cells = builder, lines, cells
        self._chains: dict[tuple[float, tuple[int, ...]], Form] = {}

    def hat(self, node: tuple[int, ...]) -> Form:
        """The hat of a node."""
        return self.builder.relu(Form.of(1.0) - self._chain(1.0, node) - self._chain(-1.0, node))

    def _chain(self, sign: float, beginning: tuple[int, ...]) -> Form:
        """max(0, sign·zᵢ over the first axes)."""
        if not beginning:
            return Form()
        key = sign, beginning
        if key not in self._chains:
            before, last = self._chain(sign, beginning[:-1]), beginning[-1]
            # Beyond the last node of an axis there is no input: there sign·z is never positive.
            if last == (self.cells if sign > 0 else 0):
                self._chains[key] = before
            else:
                z = (self.lines[len(beginning) - 1] - Form.of(float(last))).scaled(sign)
                self._chains[key] = self.builder.maximum(z, before)
        return self._chains[key]


def _output(builder: Builder, hats: list[Form], numbers: Array) -> Form:
    """Σ number·hat, with the numbers (nodes, output tokens); where tokens differ, each keeps its own sum."""
    sums = [_weighted(hats, column) for column in numbers.T]
    if (numbers == numbers[:, :1]).all():
        return sums[0]
    total = Form()
    for token, form in enumerate(sums):
        total = total + builder.gate(Number(np.eye(builder.tokens)[token]), form)
    return total


def _weighted(hats: list[Form], column: Array) -> Form:
    terms = {next(iter(hat.terms)): Number(float(value)) for hat, value in zip(hats, column, strict=True)}
    return Form(terms)
