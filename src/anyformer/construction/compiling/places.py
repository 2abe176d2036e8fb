"""Channels that hold positions: as few as the program needs.

One channel per token (one-hot) serves every mixing and gate. Where tokens only copy each other, two channels are
enough, with the place k and its square: the score c·(2·s·k − k²) is largest at k = s, by c from its neighbours. A
constant that depends on the place is then a channel of its own.
"""

import math
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.networks.dtypes import FLOAT64, DType
from anyformer.programs.forms import Form, Node
from anyformer.programs.steps import Attend, Gate, Mix


def leak_of(dtype: DType) -> float:
    """How far behind the largest a score must be to count for nothing.

    In float64 the weight is then 0, and e^-800 in the reals. Narrower types have no bits to spare for scores that
    large: there it is below the square of one rounding.
    """
    return 800.0 if dtype == FLOAT64 else float(math.ceil(2 * dtype.bits * math.log(2)))


@dataclass(frozen=True, eq=False)
class Scores:
    """Queries and keys of a head over the channels: (size, width), (size,), (size, width)."""

    W_Q: Array
    b_Q: Array
    W_K: Array


class Places:
    """Which channels hold what about positions, from channel `first` on."""

    def __init__(self, nodes: list[Node], forms: list[Form], tokens: int, first: int, dtype: DType = FLOAT64) -> None:
        self.tokens, self.first, self.leak = tokens, first, leak_of(dtype)
        self.is_one_hot = any(_needs_one_hot(node) for node in nodes)
        self._columns: list[Array] = []
        self._known: dict[bytes, int] = {}
        copies = [node.step for node in nodes if isinstance(node.step, Mix)]
        if self.is_one_hot:
            self._columns = list(np.eye(tokens))
        elif copies:
            place = np.arange(float(tokens))
            self._add(place)
            self._add(np.square(place))
            for step in copies:
                if _line(_source(step)) is None:
                    self._add(_source(step))
        if not self.is_one_hot:
            for form in forms:
                if not form.constant.is_steady:
                    self._add(np.asarray(form.constant.value))

    def _add(self, column: Array) -> None:
        if column.tobytes() not in self._known:
            self._known[column.tobytes()] = len(self._columns)
            self._columns.append(column)

    @property
    def count(self) -> int:
        """How many channels there are."""
        return len(self._columns)

    def encoding(self, width: int) -> Array | None:
        """The positions, (tokens, width); None if there are none."""
        if not self._columns:
            return None
        encoding = np.zeros((self.tokens, width))
        for k, column in enumerate(self._columns):
            encoding[:, self.first + k] = column
        return encoding

    def reading(self, vector: Array, width: int) -> Array:
        """Weights that read a constant of the place."""
        row = np.zeros(width)
        if self.is_one_hot:
            row[self.first : self.first + self.tokens] = vector
        else:
            row[self.first + self._known[vector.tobytes()]] = 1.0
        return row

    def others(self, mine: Array, width: int) -> Array:
        """Weights that read 1 at every token outside of a set, and 0 in it."""
        return self.reading(np.where(mine, 0.0, 1.0), width)

    def mixing(self, step: Mix, width: int) -> Scores:
        """Scores that give the shares of a fixed mixing."""
        if self.is_one_hot:
            with np.errstate(divide="ignore"):
                return self.table(np.maximum(np.log(step.shares.values), -self.leak), width)
        W_Q, W_K, b_Q = np.zeros((2, width)), np.zeros((2, width)), np.zeros(2)
        W_K[0, self.first], W_K[1, self.first + 1] = 1.0, -1.0
        b_Q[1] = self.leak
        source = _source(step)
        line = _line(source)
        if line is None:
            W_Q[0] = 2 * self.leak * self.reading(source, width)
        else:
            W_Q[0, self.first], b_Q[0] = 2 * self.leak * line[0], 2 * self.leak * line[1]
        return Scores(W_Q, b_Q, W_K)

    def table(self, scores: Array, width: int) -> Scores:
        """Any scores, (queries, keys), by one-hot positions."""
        queries, keys = np.zeros((self.tokens, width)), np.zeros((self.tokens, width))
        here = slice(self.first, self.first + self.tokens)
        keys[:, here] = np.eye(self.tokens)
        if (scores == scores[0]).all():
            return _without_idle(Scores(queries, scores[0].copy(), keys))
        queries[:, here] = scores.T
        return Scores(queries, np.zeros(self.tokens), keys)


def _without_idle(scores: Scores) -> Scores:
    """Everybody has the same scores: only the keys that differ from the commonest score are needed."""
    values, counts = np.unique(scores.b_Q, return_counts=True)
    common = values[counts.argmax()]
    used = scores.b_Q != common
    return Scores(scores.W_Q[used], scores.b_Q[used] - common, scores.W_K[used])


def _needs_one_hot(node: Node) -> bool:
    if isinstance(node.step, Mix):
        return not bool((node.step.shares.values.max(axis=1) == 1).all())
    return isinstance(node.step, Gate) or (isinstance(node.step, Attend) and node.step.offsets is not None)


def _source(step: Mix) -> Array:
    return np.asarray(step.shares.values.argmax(axis=1), dtype=np.float64)


def _line(source: Array) -> tuple[float, float] | None:
    """(a, b) with source[j] = a·j + b, if it is so."""
    a, b = (float(source[1] - source[0]) if len(source) > 1 else 0.0), float(source[0])
    return (a, b) if np.array_equal(source, a * np.arange(len(source)) + b) else None
