"""Hidden units that look along one form: as a function of it, with what their roundings may add."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from anyformer.arrays import Array, Booleans, Integers
from anyformer.certificates.programs.errors import UP
from anyformer.certificates.programs.polylines import ReluSum, smallest
from anyformer.certificates.programs.stream import UNIT, Reading, Stream
from anyformer.programs.curves import Curve
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.ranges import Range


@dataclass(frozen=True, eq=False)
class Units:
    """The hidden units that write a channel; `parts` is over how many layers they are spread."""

    rows: Array
    biases: Array
    weights: Array
    shift: float
    parts: int

    def some(self, which: Booleans) -> "Units":
        """Some of them."""
        return Units(self.rows[which], self.biases[which], self.weights[which], 0.0, self.parts)


class Along:
    """Units that look along one form: ±u + offset, with u as the stream holds it."""

    def __init__(
        self, stream: Stream, units: Units, form: Form, known: Range | None = None, summed: int | None = None
    ) -> None:
        self.units, wanted = units, stream.of(form)
        self.range = stream.ranges.form(form) if known is None else known
        self.room = self.room_of(stream, form, self.range)
        self.signs, self.offsets = np.ones(len(units.rows)), np.zeros(len(units.rows))
        self.extra = self.doubt = 0.0
        for row, mine in alike(units.rows):
            reading, biases = stream.read(row), units.biases[mine]
            sign = 1.0 if _is_along(row, wanted) else -1.0
            # ±(u − its constant) + constant of the units: what depends on the place must cancel, but for its spread.
            offset = reading.constant + wanted.constant * Number(-sign)
            values = np.asarray(offset.value)
            middle, spread = float(values.max() + values.min()) / 2, float(values.max() - values.min()) / 2
            self.signs[mine], self.offsets[mine] = sign, biases + middle
            gap = stream.apart(Reading(reading.row), Reading(wanted.row * Number(sign)))
            doubts = offset.most_doubt + spread + 4 * UNIT * (np.abs(biases) + abs(middle))
            rounding = stream.rounding(row, 0.0) + stream.roundings(int(np.count_nonzero(row)) + 4) * np.abs(biases)
            self.extra += float(np.abs(units.weights[mine]) @ (gap + doubts + rounding)) * UP
            self.doubt = max(self.doubt, float((gap + doubts + rounding).max()) * UP)
        activations = self.line(0.0, 0.0).activations(*outward(self.range, self.room))
        self.largest = float(np.abs(units.weights) @ activations) * UP + self.extra + abs(units.shift)
        # The sum over the units and b_2, in any order and over `parts` layers; `summed` units are in it.
        count = len(units.weights) if summed is None else summed
        self.sum_rounding = partial(stream.sum_rounding, count + units.parts)
        of_sum = self.sum_rounding(self.largest)
        self.extra, self.largest = self.extra + of_sum, self.largest + of_sum

    def relative_rounding(self, line: ReluSum, curve: Curve, shift: float) -> float:
        """The rounding error of the units beside the size of the curve, piece by piece between the kinks.

        Where the curve is small, few units may be awake: the others are exactly 0, and add nothing to the error. A unit
        is off by at most `doubt`, so that it can be awake up to so far before its kink. The sum of all activations is
        convex, so largest at an end of a piece. Where the argument is beyond its range, the curve may be smaller than
        on it, by its steepness times the room.
        """
        knots = line.knots(curve.low, curve.high)
        first, last = outward((curve.low, curve.high), self.room)
        ends = np.concatenate([[first], knots[1:-1], [last]])
        low, high = ends[:-1] - self.doubt, ends[1:] + self.doubt
        sizes = np.abs(self.units.weights)
        together = ReluSum(0.0, 0.0, self.signs, self.offsets, sizes)
        (at_low, off), (at_high, _) = together.values(low), together.values(high)
        awake = _weight_before(together, 1.0, high) + _weight_before(together, -1.0, -low)
        # Sums have one rounding for every unit.
        up = UP + 4 * len(sizes) * UNIT
        held = (np.maximum(at_low, at_high) + 2 * off + awake * self.doubt + abs(self.units.shift)) * up
        lost = awake * self.doubt * up + np.array([self.sum_rounding(one) for one in held.tolist()]) + shift
        least = smallest(curve, knots) * (1 - 4 * UNIT)
        beyond = curve.steepness * max(self.room) * (1 + 4 * UNIT) if max(self.room) > 0 else 0.0
        least[0], least[-1] = least[0] - beyond, least[-1] - beyond
        with np.errstate(all="ignore"):
            return float(np.where(least > 0, lost / least, np.inf).max())

    @staticmethod
    def room_of(stream: Stream, form: Form, r: Range) -> tuple[float, float]:
        """How far below and above its range a form can be, by its error.

        A relative error below 1 moves no number further out than the ends are moved: u ± r·|u| rises with u.
        """
        error = stream.errors.form(form)
        if error.relative >= 1:
            return error.absolute * UP, error.absolute * UP
        low, high = (min(error.absolute, error.relative * abs(end)) * UP for end in r)
        return low, high

    def line(self, slope: float, constant: float) -> ReluSum:
        """The units as a function of u, with a straight part added."""
        return ReluSum(slope, constant, self.signs, self.offsets, self.units.weights)


def _weight_before(line: ReluSum, sign: float, at: Array) -> Array:
    """Σ weight of the units of one sign that begin before these points, in their direction."""
    mine = line.signs == sign
    order = np.argsort(-line.offsets[mine])
    begins, weights = -line.offsets[mine][order], line.weights[mine][order]
    return np.concatenate([[0.0], np.cumsum(weights)])[np.searchsorted(begins, at, side="right")]


def outward(r: Range, room: tuple[float, float]) -> Range:
    """A range and the room around it, rounded outwards."""
    return float(np.nextafter(r[0] - room[0], -np.inf)), float(np.nextafter(r[1] + room[1], np.inf))


def alike(rows: Array) -> Iterator[tuple[Array, Integers]]:
    """The different rows, each with the numbers of the units that have it."""
    if not len(rows):
        return
    if (rows == rows[0]).all():
        yield rows[0], np.arange(len(rows))
        return
    different, which = np.unique(rows, axis=0, return_inverse=True)
    for k, row in enumerate(different):
        yield row, np.flatnonzero(which.ravel() == k)


def _is_along(row: Array, wanted: Reading) -> bool:
    """Whether a row looks the way of a reading rather than the opposite way."""
    target = np.asarray(wanted.row.value)
    return bool(np.abs(row - target).sum() <= np.abs(row + target).sum())


def distance(row: Array, wanted: Reading) -> float:
    """How far a row is from looking along a reading, either way."""
    target = np.asarray(wanted.row.value)
    return float(min(np.abs(row - target).sum(), np.abs(row + target).sum()))
