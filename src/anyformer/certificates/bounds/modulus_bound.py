"""The error on cells from a declared modulus of continuity.

On a cell with centre c, |f(x) − g(x)| <= |f(x) − f(c)| + |f(c) − g(x)|. The p-mean of the first term comes from the
modulus; the second is bounded by the enclosure of g on the cell; by Minkowski the two add.
"""

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.bounds.cells import volumes, widest_walls
from anyformer.certificates.bounds.job import Job, Sums
from anyformer.certificates.bounds.powers import power_above, power_below
from anyformer.certificates.propagation.enclosures import Enclosure, up, up_times
from anyformer.certificates.propagation.gate import vigilant

# Relative errors of sums and powers of non-negative numbers, and of the moduli themselves, stay far below this.
INFLATION = 1 + 2.0**-36
# More than what all products of a modulus together can lose by underflow.
UNDERFLOWN = 2.0**-1040


def modulus_sums(job: Job, chunk: tuple[int, int]) -> Sums:
    """The sums of a chunk of cells."""
    with vigilant():
        return _sums(job, chunk)


def _sums(job: Job, chunk: tuple[int, int]) -> Sums:
    target, p, unit = job.target, job.p, job.unit
    assert target.modulus is not None
    batch, boxes, outputs = job.followed(chunk)
    centre, half = (boxes.low + boxes.high) / 2, up((boxes.high - boxes.low) / 2)
    f = target(centre)
    doubt = up(target.evaluation_error * (1 + np.abs(f)))
    deviation = _widened(target.modulus.mean_deviation(half, p))
    miss = up(outputs.farthest_from(f) + doubt)
    volume = up_times(volumes(boxes), batch.multiplicity)
    powers = summed(volume, power_above(deviation + miss, unit, p))
    surely = _surely(outputs, f, deviation + doubt, unit, p) * volume * (1 - 2.0**-30)
    around = doubt + _widened(target.modulus.largest_deviation(up(half + widest_walls(target, job.grid))))
    return Sums(
        parts={
            "cells": float(powers[~batch.coinciding].sum()),
            "coincidence": float(powers[batch.coinciding].sum()),
            "variation": float(summed(volume, power_above(deviation, unit, p)).sum()),
            "mismatch": float(summed(volume, power_above(miss, unit, p))[~batch.coinciding].sum()),
        },
        lower=float(surely.sum()),
        worst=float(surely.max()),
        worst_input=centre[int(surely.argmax())],
        f_low=(f - around).min(axis=(0, 1)),
        f_high=(f + around).max(axis=(0, 1)),
    )


def _widened(deviation: Array) -> Array:
    """A modulus is rounded to nearest, and products in it may have underflowed."""
    return np.asarray(deviation) * INFLATION + UNDERFLOWN


def summed(volume: Array, powers: Array) -> Array:
    """Volume times the sum of the powers of all entries, cell by cell; rounded up."""
    return up_times(volume, up(powers.sum(axis=(1, 2))))


def _surely(outputs: Enclosure, f: Array, doubt: Array, unit: float, p: float) -> Array:
    """By the reverse triangle inequality: where g is surely far from f(c), the error is surely large."""
    gap = np.maximum(np.maximum(outputs.low - f, f - outputs.high) - outputs.slack - doubt, 0.0)
    return np.asarray(power_below(gap, unit, p).sum(axis=(1, 2)))
