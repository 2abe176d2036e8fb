"""Nodes that several feed-forward layers compute: their helper channels, their units, their hints."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.programs.polylines import ReluSum
from anyformer.construction.compiling.deep_squares import Level, Quadratic, levels
from anyformer.construction.compiling.rows import Group, Row
from anyformer.programs.forms import Form, Node

Reader = Callable[[Form], Row]


def helper_count(squares: int, depth: int) -> int:
    """How many helper channels a node takes: in every layer but the last a wave for each square, and the chords."""
    return (squares + 1) * (depth - 1)


@dataclass(frozen=True, eq=False)
class DeepStep:
    """A node that is a sum of squares, each by so many layers; its own channel, and the first of its helpers'."""

    node: Node
    squares: list[Quadratic]
    tolerance: float
    depth: int
    channel: int
    first_helper: int
    stretch: float = 1.0

    @cached_property
    def _parts(self) -> list[tuple[list[Level], ReluSum]]:
        return [levels(square, self.tolerance / len(self.squares), self.depth) for square in self.squares]

    def _chords(self, level: int) -> int:
        return self.first_helper + level * (len(self.squares) + 1)

    def _wave(self, level: int, r: int) -> int:
        return self._chords(level) + 1 + r

    def group(self, level: int, read: Reader, width: int) -> Group:
        """The units of a layer; the last one writes the node's own channel."""
        rows, biases, weights = [], [], []
        for r, (parts, last) in enumerate(self._parts):
            along = read(self.squares[r].form) if level == 0 else Row.of_channel(self._wave(level - 1, r), width)
            line = last if level == self.depth - 1 else _relus(parts[level])
            rows.append(line.signs[:, None] * along.weights)
            biases.append(line.signs * along.constant + line.offsets)
            weights.append(line.weights)
        outputs = {self.channel if level == self.depth - 1 else self._chords(level): np.concatenate(weights)}
        if level < self.depth - 1:
            turns = [parts[level].turns for parts, _ in self._parts]
            outputs |= {self._wave(level, r): _only(turns, r) for r in range(len(turns))}
        return Group(np.concatenate(rows), np.concatenate(biases), outputs)

    def hints(self, level: int, layer: int) -> list[Hint]:
        """What the channels of a layer are."""
        if level == self.depth - 1:
            constant, slopes, helpers = self._straight
            return [
                Hint(
                    self.node.number,
                    layer,
                    self.channel,
                    slopes=(*slopes, *helpers.values()),
                    constant=constant,
                    stretch=self.stretch,
                    helpers=tuple(helpers),
                )
            ]
        channels = [self._chords(level), *(self._wave(level, r) for r in range(len(self.squares)))]
        return [Hint(self.node.number, layer, one, stretch=self.stretch, is_helper=True) for one in channels]

    @property
    def _straight(self) -> tuple[float, list[float], dict[int, float]]:
        """The constant, the slopes of the forms, and those of the helper channels."""
        constant, slopes = 0.0, []
        helpers = {self._chords(level): 1.0 for level in range(self.depth - 1)}
        for r, (parts, last) in enumerate(self._parts):
            slopes.append(parts[0].slope)
            constant += sum(part.constant for part in parts) + last.constant
            next_slopes = [part.slope for part in parts[1:]] + [last.slope]
            for level, (part, slope) in enumerate(zip(parts, next_slopes, strict=True)):
                helpers[self._wave(level, r)] = slope - part.share
        return constant, slopes, helpers

    def row(self, read: Reader, width: int) -> Row:
        """How the node is read."""
        constant, slopes, helpers = self._straight
        total = Row.of_channel(self.channel, width).plus(Row(np.zeros(width), constant))
        for square, slope in zip(self.squares, slopes, strict=True):
            total = total.plus(read(square.form), slope)
        for channel, slope in helpers.items():
            total = total.plus(Row.of_channel(channel, width), slope)
        return total


def _relus(level: Level) -> ReluSum:
    return ReluSum(level.slope, level.constant, np.ones(len(level.kinks)), -level.kinks, level.bends)


def _only(parts: list[Array], r: int) -> Array:
    """The r-th part in its place, and zeros for the others."""
    return np.concatenate([part if k == r else np.zeros_like(part) for k, part in enumerate(parts)])
