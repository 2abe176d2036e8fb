"""The error on cells from a declared modulus of continuity.

On a cell with centre c, |f(x) − g(x)| <= |f(x) − f(c)| + |f(c) − g(x)|. The p-mean of the first term comes from the
modulus; the second is bounded by the enclosure of g on the cell; by Minkowski the two add.
"""

import numpy as np

from anyformer.certificates.cells import widest_walls
from anyformer.certificates.enclosures import Enclosure, up
from anyformer.certificates.job import Job, Sums
from anyformer.networks.activations import Array

# Relative errors of sums and powers of non-negative numbers, and of the moduli themselves, stay far below this.
INFLATION = 1 + 2.0**-36


def modulus_sums(job: Job, chunk: tuple[int, int]) -> Sums:
    """What a chunk of cells contributes."""
    target, p = job.target, job.p
    assert target.modulus is not None
    batch, boxes, outputs = job.followed(chunk)
    centre, half = (boxes.low + boxes.high) / 2, up((boxes.high - boxes.low) / 2)
    f = target(centre)
    doubt = up(target.evaluation_error * (1 + np.abs(f)))
    deviation = np.asarray(target.modulus.mean_deviation(half, p)) * INFLATION
    miss = up(outputs.farthest_from(f) + doubt)
    volume = up(np.prod(boxes.high - boxes.low, axis=(1, 2)) * batch.multiplicity)
    powers = volume * ((deviation + miss) ** p).sum(axis=(1, 2))
    surely = _surely(outputs, f, deviation + doubt, volume, p)
    around = doubt + np.asarray(target.modulus.largest_deviation(up(half + widest_walls(target, job.grid)))) * INFLATION
    return Sums(
        parts={
            "cells": float(powers[~batch.coinciding].sum()),
            "coincidence": float(powers[batch.coinciding].sum()),
            "variation": float((volume * (deviation**p).sum(axis=(1, 2))).sum()),
            "mismatch": float((volume * (miss**p).sum(axis=(1, 2)))[~batch.coinciding].sum()),
        },
        lower=float(surely.sum()),
        worst=float(surely.max()),
        worst_input=centre[int(surely.argmax())],
        f_low=(f - around).min(axis=(0, 1)),
        f_high=(f + around).max(axis=(0, 1)),
    )


def _surely(outputs: Enclosure, f: Array, doubt: Array, volume: Array, p: float) -> Array:
    """By the reverse triangle inequality: where g is surely far from f(c), the error is surely large."""
    gap = np.maximum(np.maximum(outputs.low - f, f - outputs.high) - outputs.slack - doubt, 0.0)
    return np.asarray(volume * (gap**p).sum(axis=(1, 2)) / INFLATION)
