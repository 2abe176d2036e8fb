"""The mean of |f − g|^p over boxes, bounded from above and from below.

Two ways lead to bounds, and the better one counts, box by box and entry by entry.

*By ranges.* f lies in [f_low, f_high] and g in [g_low, g_high]. So |f − g| is at most
max(f_high − g_low, g_high − f_low), and at least the gap between the two intervals.

*By slopes.* f(x) lies in f(c) + Σ bᵢ(xᵢ − cᵢ) with c in the middle of the box (`intervals.slopes`). So f − g is affine
but for what is unknown of f(c), of g and of the slopes, and that shrinks with the square of the box (`affine_norms`).
This costs several times as much for a box, so a few cells are tried first to see whether it pays.
"""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.certificates.bounds.affine_norms import Affine
from anyformer.certificates.bounds.powers import power_above, power_below
from anyformer.certificates.propagation.enclosures import SMALLEST, ULP, up
from anyformer.intervals import MeanValueForms
from anyformer.targets.ranges import forms_on_boxes, range_on_boxes
from anyformer.targets.target import Target

# Slopes are followed for this many entries of the inputs at once: their number is multiplied by that of the inputs.
ENTRIES_WITH_SLOPES = 1 << 15


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of inputs and the enclosures of g on them, all of shape (batch, tokens, width)."""

    low: Array
    high: Array
    g_low: Array
    g_high: Array

    def __getitem__(self, some: slice) -> "Boxes":
        return Boxes(self.low[some], self.high[some], self.g_low[some], self.g_high[some])


@dataclass(frozen=True, eq=False)
class BoxErrors:
    """How far g is from the target, as p-th powers of errors in some unit."""

    target: Target
    unit: float
    p: float

    def by_ranges(self, boxes: Boxes, entries: Integers) -> tuple[Array, Array]:
        """Upper and lower bounds of the mean over every box, summed over some entries of the output."""
        f_low, f_high = range_on_boxes(self.target, boxes.low, boxes.high)
        upper, lower = np.zeros(len(boxes.low)), np.zeros(len(boxes.low))
        for entry in entries:
            more, less = self._of_range(boxes, f_low, f_high, self._at(entry))
            upper += more
            lower += less
        return upper, lower

    def by_slopes(self, boxes: Boxes, entries: Integers) -> tuple[Array, Array]:
        """The same by ranges and slopes, whichever is better."""
        size = max(1, ENTRIES_WITH_SLOPES // boxes.low[0].size)
        pieces = [self._piece(boxes[start : start + size], entries) for start in range(0, len(boxes.low), size)]
        upper, lower = (np.concatenate(bounds) for bounds in zip(*pieces, strict=True))
        return upper, lower

    def _piece(self, boxes: Boxes, entries: Integers) -> tuple[Array, Array]:
        forms = forms_on_boxes(self.target, boxes.low, boxes.high)
        upper, lower = np.zeros(len(boxes.low)), np.zeros(len(boxes.low))
        inputs = _Inputs.of(boxes, self.unit)
        for entry in entries:
            at = self._at(entry)
            more, less = self._of_range(boxes, forms.values.low, forms.values.high, at)
            affine_more, affine_less = self._affine(boxes, inputs, forms, at).powers(self.p)
            upper += np.minimum(more, affine_more)
            lower += np.maximum(less, affine_less)
        return upper, lower

    def _at(self, entry: int) -> tuple[slice, int, int]:
        return (slice(None), *divmod(int(entry), self.target.width))

    def _of_range(self, boxes: Boxes, f_low: Array, f_high: Array, at: tuple[slice, int, int]) -> tuple[Array, Array]:
        g_low, g_high = boxes.g_low[at], boxes.g_high[at]
        # ∞ − ∞ where nothing is known of either.
        with np.errstate(invalid="ignore", over="ignore"):
            most = np.maximum(f_high[at] - g_low, g_high - f_low[at])
            least = np.maximum(np.maximum(f_low[at] - g_high, g_low - f_high[at]), 0.0)
        upper = power_above(np.where(np.isnan(most), np.inf, most), self.unit, self.p)
        return upper, power_below(np.where(np.isnan(least), 0.0, least), self.unit, self.p)

    def _affine(self, boxes: Boxes, inputs: "_Inputs", forms: MeanValueForms, at: tuple[slice, int, int]) -> Affine:
        with np.errstate(all="ignore"):
            low = np.nextafter(forms.centre.low[at] - boxes.g_high[at], -np.inf) / self.unit
            high = np.nextafter(forms.centre.high[at] - boxes.g_low[at], np.inf) / self.unit
        slopes = (slice(None), *at)
        slope_low, slope_high = forms.slopes.low[slopes].T, forms.slopes.high[slopes].T
        return Affine(low, high, slope_low, slope_high, inputs.half, inputs.off)


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Half the sides of boxes, and how far their rounded centres are from the middle; (inputs, batch), in the unit."""

    half: Array
    off: Array

    @classmethod
    def of(cls, boxes: Boxes, unit: float) -> "_Inputs":
        low, high = (np.ascontiguousarray(end.reshape(len(end), -1).T) for end in (boxes.low, boxes.high))
        half = up((high - low) / 2) / unit
        # low/2 + high/2 is rounded once, and each half once more below the normal numbers.
        off = (ULP * np.maximum(np.abs(low), np.abs(high)) + 2 * SMALLEST) / unit
        return cls(half, off)
