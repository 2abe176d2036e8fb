"""The error on cells from a declared modulus of continuity.

On a cell with centre c, |f(x) − g(x)| <= |f(x) − f(c)| + |f(c) − g(x)|. The p-mean of the first term comes from the
modulus; the second is bounded by the enclosure of g on the cell; by Minkowski the two add.
"""

import numpy as np

from anyformer.certificates.cells import CellBatch
from anyformer.certificates.enclosures import Enclosure, up
from anyformer.networks.activations import Array
from anyformer.targets.moduli import Modulus
from anyformer.targets.target import Target

# Relative errors of sums and powers of non-negative numbers, and of the moduli themselves, stay far below this.
INFLATION = 1 + 2.0**-36


class ModulusSums:
    """Running sums of p-th powers over cells, and the range of f."""

    def __init__(self, target: Target, modulus: Modulus, wall: Array, p: float) -> None:
        self.target, self.modulus, self.wall, self.p = target, modulus, wall, p
        self.regular = self.coincidence = self.variation = self.mismatch = self.lower = 0.0
        self.worst, self.worst_input = -1.0, np.zeros((target.tokens, target.width))
        self.f_low = np.full(target.width, np.inf)
        self.f_high = np.full(target.width, -np.inf)

    def add(self, batch: CellBatch, boxes: Enclosure, outputs: Enclosure) -> None:
        """Add what the cells of one batch contribute."""
        p = self.p
        centre, half = (boxes.low + boxes.high) / 2, up((boxes.high - boxes.low) / 2)
        f = self.target(centre)
        doubt = up(self.target.evaluation_error * (1 + np.abs(f)))
        deviation = np.asarray(self.modulus.mean_deviation(half, p)) * INFLATION
        miss = up(outputs.farthest_from(f) + doubt)
        volume = up(np.prod(boxes.high - boxes.low, axis=(1, 2)) * batch.multiplicity)
        powers = volume * ((deviation + miss) ** p).sum(axis=(1, 2))
        self.regular += float(powers[~batch.coinciding].sum())
        self.coincidence += float(powers[batch.coinciding].sum())
        self.variation += float((volume * (deviation**p).sum(axis=(1, 2))).sum())
        self.mismatch += float((volume * (miss**p).sum(axis=(1, 2)))[~batch.coinciding].sum())
        self._add_lower(outputs, f, deviation + doubt, volume, centre)
        self._add_range(f, doubt, half)

    def _add_lower(self, outputs: Enclosure, f: Array, doubt: Array, volume: Array, centre: Array) -> None:
        """By the reverse triangle inequality: where g is surely far from f(c), the error is surely large."""
        gap = np.maximum(np.maximum(outputs.low - f, f - outputs.high) - outputs.slack - doubt, 0.0)
        surely = volume * (gap**self.p).sum(axis=(1, 2)) / INFLATION
        self.lower += float(surely.sum())
        if surely.max() > self.worst:
            self.worst, self.worst_input = float(surely.max()), centre[int(surely.argmax())]

    def _add_range(self, f: Array, doubt: Array, half: Array) -> None:
        around = doubt + np.asarray(self.modulus.largest_deviation(up(half + self.wall))) * INFLATION
        self.f_low = np.minimum(self.f_low, (f - around).min(axis=(0, 1)))
        self.f_high = np.maximum(self.f_high, (f + around).max(axis=(0, 1)))
