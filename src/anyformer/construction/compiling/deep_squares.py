"""Squares by several layers: u² by L layers of K units is off by about K^(−2L), by one layer of L·K units by (L·K)^−2.

On a piece [a, b] of length h, u² is its chord minus (u − a)(b − u), and with s the share of the piece that lies left
of u, or right of it, that is h²·s·(1 − s). So with s a triangle wave between 0 and 1, u² = chord(u) − h²·s + h²·s², and
s² on [0, 1] is the same problem again. Chords and wave have the same kinks: a unit writes both.
"""

import math
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.polylines import ReluSum
from anyformer.construction.compiling import knots
from anyformer.programs.curves import Curve
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number

# Bends that differ by less than this are one bend: the checker compares with the curve itself.
ALIKE = 1e-9


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A curve of constant bend along a form, and how far beyond its range the form can be."""

    form: Form
    curve: Curve
    bend: float
    room: float

    @classmethod
    def of(cls, form: Form, curve: Curve, room: float) -> "Quadratic | None":
        """None if the curve's bend is not constant, or 0."""
        bend = curve.pieces.bend
        low, high = float(bend.low.min()), float(bend.high.max())
        if not (math.isfinite(low) and math.isfinite(high) and high - low <= ALIKE * max(abs(low), abs(high))):
            return None
        return cls(form, curve, (low + high) / 2, room) if low + high else None

    def pieces(self, tolerance: float, depth: int) -> int:
        """How many a layer needs: in every layer the error falls by the square of their number."""
        length = self.curve.high - self.curve.low + 2 * self.room
        return max(2, math.ceil(math.pow(abs(self.bend) * length**2 / 16 / tolerance, 0.5 / depth)))

    def values(self, at: Array) -> Array:
        """The curve at points, in its range and beyond it."""
        middle = np.array([self.curve.low + (self.curve.high - self.curve.low) / 2])
        jet = self.curve.at(middle, middle)
        apart = at - middle
        return np.asarray(self.curve.points(middle) + float(jet.slope.low[0]) * apart + self.bend / 2 * apart**2)


@dataclass(frozen=True, eq=False)
class Level:
    """One layer but the last: units max(v − kink, 0), where v is the form, or the wave of the level before.

    The chord is slope·v + constant + Σ bends·unit, the wave is Σ turns·unit. `share` is what the square of the wave is
    multiplied by in what is left to do; the wave itself is to be subtracted as often.
    """

    kinks: Array
    bends: Array
    turns: Array
    slope: float
    constant: float
    share: float


def levels(square: Quadratic, tolerance: float, depth: int) -> tuple[list[Level], ReluSum]:
    """All levels but the last, and the last, which is a polyline along the last wave."""
    pieces = square.pieces(tolerance, depth)
    at = np.linspace(square.curve.low - square.room, square.curve.high + square.room, pieces + 1)
    found = [_level(at, square.values(at), square.bend)]
    at = np.linspace(0.0, 1.0, pieces + 1)
    for _ in range(depth - 2):
        share = found[-1].share
        found.append(_level(at, share * at**2, 2 * share))
    factor = Number(found[-1].share)
    last = Curve(lambda s: s.apply("square").times(factor), 0.0, 1.0)
    return found, knots.polyline(last, tolerance)


def _level(at: Array, values: Array, bend: float) -> Level:
    h = (at[-1] - at[0]) / (len(at) - 1)
    slopes = np.diff(values) / np.diff(at)
    turns = np.where(np.arange(len(at) - 1) % 2 == 0, 2.0, -2.0) / h
    turns[0] /= 2  # the wave rises from 0 at the first kink
    bends = np.concatenate([[0.0], np.diff(slopes)])
    return Level(at[:-1], bends, turns, float(slopes[0]), float(values[0] - slopes[0] * at[0]), bend / 2 * h**2)
