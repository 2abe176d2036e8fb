"""A function of one number on the interval where it is needed: its range, its steepness, how much it bends.

Beyond the interval a curve goes on as a straight line with the slope of its end, or as a constant where that slope is
not finite. Exact arguments never leave the interval, but computed ones may, by their error; the continued curve is no
steeper than `steepness`, so an error e of the argument changes it by at most steepness·e, and its leaps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import LeavesDomain
from anyformer.intervals import IntervalError
from anyformer.programs.jets import Jet

# Cuts for ranges and slopes: more give tighter bounds, any number gives true ones.
CUTS = 512


@dataclass(frozen=True, eq=False)
class Curve:
    """u ↦ jet(u) on [low, high]."""

    jet: Callable[[Jet], Jet]
    low: float
    high: float

    def at(self, low: Array, high: Array) -> Jet:
        """Enclosures on pieces of the interval."""
        low, high = (np.clip(np.asarray(end, dtype=np.float64), self.low, self.high) for end in (low, high))
        with np.errstate(all="ignore"):
            try:
                return self.jet(Jet.variable(low, high))
            except IntervalError as error:
                raise LeavesDomain(str(error)) from error

    def points(self, u: Array) -> Array:
        """Values at points, up to rounding."""
        value = self.at(u, u).value
        return np.asarray(value.low + (value.high - value.low) / 2)

    @cached_property
    def pieces(self) -> Jet:
        """Enclosures on a cutting of the whole interval."""
        cuts = self.cuts(CUTS)
        return self.at(cuts[:-1], cuts[1:])

    @cached_property
    def _at_cuts(self) -> Jet:
        cuts = self.cuts(CUTS)
        return self.at(cuts, cuts)

    def cuts(self, count: int) -> Array:
        """Points from end to end, evenly and densely at both ends, where roots and poles may be near."""
        share = np.linspace(0.0, 1.0, count // 2 + 1)
        places = np.concatenate([share, share**4, 1 - share**4])
        with np.errstate(all="ignore"):
            inner = self.low + (self.high - self.low) * places
        # Rounded, the last of them may fall short of the end.
        inner = inner[(inner > self.low) & (inner < self.high)]
        return np.concatenate([[self.low], np.unique(inner), [self.high]])

    @cached_property
    def range(self) -> tuple[float, float]:
        """An interval that holds all values."""
        value, ends = self.pieces.value, self._at_cuts.value
        low = float(np.minimum(value.low.min(), ends.low.min()))
        high = float(np.maximum(value.high.max(), ends.high.max()))
        if not (np.isfinite(low) and np.isfinite(high)):
            raise LeavesDomain("the function has no finite bound there")
        return low, high

    @cached_property
    def steepness(self) -> float:
        """sup |f′|, also beyond the ends; infinite for a root at 0."""
        slope = self.pieces.slope
        inside = float(np.maximum(np.abs(slope.low), np.abs(slope.high)).max())
        # At a kink the slope with which the curve goes on may be that of the other branch.
        beyond = max(abs(one) for end in (self.low, self.high) for one in self.end_slope(end))
        return max(inside, beyond) if inside == inside else np.inf

    @cached_property
    def leap(self) -> float:
        """How far the curve may be from continuous, in all: the branches of a choice meet up to rounding only.

        On a piece whose slope is known no branch changes but at its ends, which are cuts.
        """
        leap = self._at_cuts.leap
        return float(leap.sum()) * (1 + len(leap) * 2.0**-52)

    def end_slope(self, end: float) -> tuple[float, float]:
        """Bounds of the slope with which the curve goes on beyond one of its ends: (0, 0) where f′ is not finite."""
        slope = self.at(np.array([end]), np.array([end])).slope
        low, high = float(slope.low[0]), float(slope.high[0])
        return (low, high) if np.isfinite(low) and np.isfinite(high) else (0.0, 0.0)
