"""What a hidden unit of a program reads: u, which way, and from which u on it is awake. Read off its weights."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.programs.stream import Reading
from anyformer.programs.forms import Form, Node
from anyformer.programs.roots import Roots
from anyformer.programs.steps import Gate, Maximum, Norm, Product
from anyformer.programs.text import text


@dataclass(frozen=True, eq=False)
class Argument:
    """A number that units read: Σ row·channel + constant, the constant one for all tokens or one each; in words."""

    words: str
    row: Array
    constant: Array


@dataclass(frozen=True)
class Looking:
    """A unit is max(slope·(u − kink), 0); where the kink depends on the place, `kinks` has one a token instead."""

    argument: str
    slope: float
    kink: float | None
    kinks: tuple[float, ...] = ()


class Arguments:
    """The arguments of all units of a network, as forms over nodes and as readings of the stream."""

    def __init__(
        self, positions: Array, readings: Mapping[Node, Reading], roots: Roots, computed: frozenset[int]
    ) -> None:
        self.positions, self.readings, self.roots, self.computed = positions, readings, roots, computed
        self.is_position = positions.any(axis=0)

    def looking(self, row: Array, bias: float, node: Node, hint: Hint, helpers: tuple[int, ...]) -> Looking:
        """How a unit with this row of W_1 and this bias looks at what its node is computed from."""
        free = np.where(self.is_position, 0.0, row)
        added = self.positions @ row + bias
        seen = self._helper(free, helpers)
        if seen is None:
            seen = self._turned(free, node) if self._is_norm(node) else self._nearest(free, node, hint)
        scale = float(seen.row @ seen.row)
        slope = float(free @ seen.row) / scale if scale else 1.0
        kinks = np.broadcast_to(seen.constant - added / slope, (len(self.positions),))
        if isinstance(node.step, Gate) and (kinks != kinks[0]).any():
            return Looking(seen.words, slope, None, tuple(kinks.tolist()))
        # What depends on the place cancels up to rounding in all other steps: the checker asks for it.
        return Looking(seen.words, slope, float(kinks.max() + kinks.min()) / 2)

    def _helper(self, row: Array, helpers: tuple[int, ...]) -> Argument | None:
        """A helper channel that the unit reads, and nothing else."""
        for channel in helpers:
            if row[channel] and np.count_nonzero(row) == 1:
                unit = np.zeros_like(row)
                unit[channel] = 1.0
                return Argument(f"helper channel {channel}", unit, np.zeros(1))
        return None

    def _is_norm(self, node: Node) -> bool:
        return isinstance(node.step, Norm) and self.roots.of(node) is None

    def _nearest(self, row: Array, node: Node, hint: Hint) -> Argument:
        """The form that the row looks along, one way or the other."""
        arguments = [self.of(form) for form in self._forms(node, hint)]
        return min(arguments, key=lambda one: min(np.abs(row - one.row).sum(), np.abs(row + one.row).sum()))

    def _forms(self, node: Node, hint: Hint) -> list[Form]:
        """What units of a node look along, as the compiler and the checker have it."""
        root = self.roots.of(node)
        if root is not None:
            return [root]
        a = node.args[0]
        if isinstance(node.step, Product):
            scaled = node.args[1].scaled(1 / hint.stretch)
            return [a.scaled(hint.stretch) + scaled, a.scaled(hint.stretch) - scaled]
        if isinstance(node.step, Maximum):
            return [a - node.args[1]]
        return [a]

    def _turned(self, row: Array, node: Node) -> Argument:
        """x·a + y·b, for the direction (x, y) of the plane of a norm's two arguments that the row looks along."""
        a, b = (self.of(form) for form in node.args)
        x, y = np.linalg.lstsq(np.stack([a.row, b.row], axis=1), row, rcond=None)[0].tolist()
        words = f"{x:.4g}·({a.words}) {'−' if y < 0 else '+'} {abs(y):.4g}·({b.words})"
        return Argument(words, x * a.row + y * b.row, x * a.constant + y * b.constant)

    def of(self, form: Form) -> Argument:
        """A form over nodes as a reading of the stream."""
        row = np.zeros(self.positions.shape[1])
        constant = np.atleast_1d(np.asarray(form.constant.value, dtype=np.float64))
        for node, number in form.terms.items():
            reading, factor = self.readings[node], float(number.value)
            row = row + factor * np.asarray(reading.row.value)
            constant = constant + factor * np.atleast_1d(np.asarray(reading.constant.value))
        return Argument(text(form, self.computed), row, constant)
