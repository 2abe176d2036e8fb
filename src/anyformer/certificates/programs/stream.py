"""What is known of the residual stream: which affine forms over its channels are which nodes, and how exactly.

A channel is written at most once; before that it is 0, or *steady*: it holds the position of the token and nothing of
the input. Heads and units of a layer read the stream as it was before the layer.
"""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.certificates.programs.errors import EXACT, UP, Error, Errors
from anyformer.errors import NotShown
from anyformer.networks.dtypes import DType
from anyformer.networks.network import Network
from anyformer.programs.forms import Form, Node
from anyformer.programs.numbers import ZERO, Number
from anyformer.programs.program import Program
from anyformer.programs.ranges import Ranges, size
from anyformer.programs.steps import Input

# The checker itself computes in float64: one rounding, relatively, and what a product may lose to underflow.
UNIT, TINY = 2.0**-53, 2.0**-1074
# The checker's own numbers must stay below this; then no sum or product of two of them overflows.
LARGEST = 2.0**500


@dataclass(frozen=True, eq=False)
class Reading:
    """Σ row·channel + constant, over channels that are not steady; the constant has what the steady ones add."""

    row: Number
    constant: Number = ZERO

    def __add__(self, other: "Reading") -> "Reading":
        return Reading(self.row + other.row, self.constant + other.constant)

    def times(self, factor: Number) -> "Reading":
        """Multiplied by one number."""
        return Reading(self.row * factor, self.constant * factor)

    def scaled(self, factor: float) -> "Reading":
        """Multiplied by an exact number."""
        return self.times(Number(factor))


class Stream:
    """The facts, as they stand after some layers."""

    def __init__(self, program: Program, network: Network) -> None:
        self.program, self.tokens = program, program.tokens
        self.ranges = Ranges(program)
        self.errors = Errors(self.ranges)
        must(
            (network.tokens, network.width) == (program.tokens, program.width),
            "the network takes sequences of the program's tokens and width",
        )
        self.width, self.dtype = network.stream_width, network.dtype
        # Sums over all channels and tokens have so many roundings.
        self.up = UP + (self.width + self.tokens) * 2.0**-52
        self.magnitude = np.zeros(self.width)
        self.written = np.zeros(self.width, dtype=np.bool_)
        self.readings: dict[Node, Reading] = {}
        self.positions = _positions(network)
        self._embed(network)

    @property
    def steady(self) -> Booleans:
        """The channels that hold positions or nothing."""
        return ~self.written

    def _embed(self, network: Network) -> None:
        W_E = np.eye(network.width) if network.W_E is None else network.W_E
        inputs = {node.step.coordinate: node for node in self.program.nodes if isinstance(node.step, Input)}
        for channel in np.flatnonzero(W_E.any(axis=1)):
            coordinate = int(np.flatnonzero(W_E[channel])[0])
            must(
                np.count_nonzero(W_E[channel]) == 1
                and W_E[channel, coordinate] == 1
                and not self.positions[:, channel].any(),
                "the embedding copies each input to a channel of its own",
            )
            node = inputs.get(coordinate)
            low, high = float(self.program.low[coordinate]), float(self.program.high[coordinate])
            self.write(int(channel), size((low, high)))
            if node is not None and node not in self.readings:
                self.readings[node] = self.channel(int(channel))
                self.errors.of[node] = EXACT

    def write(self, channel: int, magnitude: float) -> None:
        """Note that a channel was written, and a bound of what it holds."""
        must(not self.written[channel], "a channel is written once")
        must(not self.positions[:, channel].any(), "a channel of positions is not written")
        must(magnitude < most_of(self.dtype), "what a channel holds is bounded")
        self.written[channel] = True
        self.magnitude[channel] = magnitude * UP

    @property
    def reach(self) -> Array:
        """A bound of what each channel holds, at any token: what was written, or the position."""
        return np.asarray(np.where(self.written, self.magnitude, np.abs(self.positions).max(axis=0, initial=0.0)))

    def channel(self, channel: int) -> Reading:
        """A channel by itself."""
        row = np.zeros(self.width)
        row[channel] = 1.0
        return Reading(Number(row))

    def read(self, row: Array, bias: float = 0.0) -> Reading:
        """What weights read: the steady channels are constants of the place."""
        steady = self.steady & (row != 0)
        constant = Number(float(bias))
        if steady.any():
            places = self.positions[:, steady] @ row[steady]
            sizes = np.abs(self.positions[:, steady]) @ np.abs(row[steady])
            is_exact = np.count_nonzero(self.positions[:, steady], axis=1) <= 1
            # One product is rounded once; n products and their sum n times, and `sizes` as often.
            doubts = np.where(is_exact, 2 * UNIT * sizes, (steady.sum() + 2) * 2 * UNIT * sizes) + steady.sum() * TINY
            constant = constant + Number(places, doubts)
        return Reading(Number(np.where(self.written, row, 0.0)), constant)

    def of(self, form: Form) -> Reading:
        """A form over nodes as a form over channels."""
        total = Reading(Number(np.zeros(self.width)), form.constant_value)
        for node, number in form.terms.items():
            must(node in self.readings, f"{node} is known when it is read")
            total = total + self.readings[node].times(Number(float(number.value)))
        return total

    def apart(self, a: Reading, b: Reading, *, but_constant: bool = False) -> float:
        """How far two readings can be from each other, for any input and token."""
        gap = a + b.scaled(-1.0)
        rows = float((np.abs(gap.row.value) + gap.row.doubt) @ self.magnitude)
        if but_constant:
            values = np.asarray(gap.constant.value)
            return self._finite(rows + float(values.max() - values.min()) / 2 + gap.constant.most_doubt)
        return self._finite(rows + gap.constant.size)

    def size(self, reading: Reading) -> float:
        """A bound of what is read."""
        row = float((np.abs(reading.row.value) + reading.row.doubt) @ self.magnitude)
        return self._finite(row + reading.constant.size)

    def roundings(self, count: float) -> float:
        """So many roundings in the network's type, one after the other, relatively."""
        return self.dtype.roundings(count)

    @property
    def underflow(self) -> float:
        """What an operation of the network may lose to underflow."""
        return self.dtype.underflow

    def rounding(self, row: Array, bias: float, more: int = 4) -> float:
        """The rounding error of computing row·x + bias in the network's type, in any order, fused or not.

        n products and n additions: each term meets at most n + 1 roundings, and a product may underflow.
        """
        count = int(np.count_nonzero(row)) + more
        reach = self._finite(float(np.abs(row) @ self.reach) + abs(bias))
        return self._finite(self.roundings(count) * reach + count * self.underflow + self.slip(row, bias))

    def slip(self, row: Array, bias: float) -> float:
        """What reading row·x + bias is off by besides these roundings: nothing, for layers read the stream itself.

        Where a norm stands before the layers, a stream that knows of it says more (`exports/stock/bound.py`).
        """
        return 0.0

    def sum_rounding(self, count: int, size: float) -> float:
        """The rounding error of adding so many products of hidden units in any order, Σ|product| at most `size`.

        Every product meets its own rounding and one for each addition; it may underflow.
        """
        return self.roundings(count + 4) * size * UP + count * self.underflow

    def rounding_at_places(self, row: Array, bias: float) -> Array:
        """The same at every token, for a row that reads steady channels alone.

        A term whose position is 0 is exactly 0, and adding it is exact: the others are rounded as above.
        """
        must(not row[self.written].any(), "a row of positions reads nothing else")
        counts = np.count_nonzero(self.positions[:, row != 0], axis=1) + 4
        several = np.array([self.roundings(count) for count in counts.tolist()])
        reach = np.abs(self.positions) @ np.abs(row) + abs(bias)
        self._finite(float(reach.max(initial=0.0)))
        # Where all terms are 0, so is their sum.
        rounded = np.where(reach > 0, several * reach + counts * self.underflow, 0.0)
        return np.asarray((rounded + self.slip(row, bias)) * self.up)

    def _finite(self, bound: float) -> float:
        """A sum of numbers that are not negative, rounded up; refused if it is NaN, which would pass for small, or if
        it may overflow."""
        must(bound < LARGEST, "all numbers are finite")
        return bound * self.up

    def record(self, node: Node, reading: Reading, own: Error) -> None:
        """Note that a node is known, with the error of its own step."""
        must(node not in self.readings, f"{node} is computed once")
        self.readings[node] = reading
        error = self.errors.record(node, own)
        must(np.isfinite(error.absolute), f"the error of {node} is finite")


def most_of(dtype: DType) -> float:
    """What a network of this type may compute on the way at most. Roundings add less than a factor 4 to its numbers."""
    return min(dtype.largest / 4, LARGEST)


def _positions(network: Network) -> Array:
    if network.positional_encoding is None:
        return np.zeros((network.tokens, network.stream_width))
    return network.positional_encoding


def must(holds: "bool | np.bool_", what: str) -> None:
    """Refuse a network that is not of the kind that the checker understands."""
    if not holds:
        raise NotShown(f"the weights do not show that {what}")
