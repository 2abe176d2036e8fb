"""Step 1: every entry of a token falls to the lower end of its cell. Feed-forward only."""

import math
from dataclasses import replace

import numpy as np

from anyformer.construction.dyadic import power_of_two_above
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.stages.coordinates import clamp_rows, rowwise_stage
from anyformer.construction.stages.draft import Draft
from anyformer.networks.activations import pieces, step
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.roles import Role


def quantise(lattice: Lattice, ramp: float) -> list[Draft]:
    """Z += e_i φ(e_iᵀZ − kδ) with φ(t) = −t on [0, δ) and 0 elsewhere, for every coordinate i and level k.

    Levels go **downwards**: an entry that a layer must leave alone either lies below it, where all ReLUs are exactly 0,
    or has been quantised before, so that its sums are exact. Upwards, entries still waiting above would be rounded.
    """
    delta = lattice.cell_width
    fall = pieces((0.0, delta), (0, 0), (-1, 0), (0, 0))
    levels = [
        (i, float(slot + k) * delta)
        for i, n in enumerate(lattice.counts)
        for slot in sorted(set(lattice.slot_cells[:, i].tolist()), reverse=True)
        for k in reversed(range(n))
    ]
    rows, thresholds = zip(*levels, strict=True)
    return [Draft(rowwise_stage("quantise", Role.QUANTISE, lattice.width, rows, thresholds, fall), ramp)]


def to_grid(lattice: Lattice) -> list[Draft]:
    """Move the low end of the domain to 0 (with positions the encoding does it) and scale each side to its cells."""
    drafts = []
    width = lattice.width
    if any(lattice.lows) and not lattice.has_positions:
        zeros = np.zeros((1, 1, width))
        shift = -np.array([lattice.lows])
        stage = FeedForwardStage("to origin", zeros, zeros[..., 0], zeros.swapaxes(1, 2), shift, step(), Role.PREPARE)
        drafts.append(Draft(stage, 1.0))
    rows = [i for i, scale in enumerate(lattice.scales) if scale != 1]
    if rows:
        # z + (scale − 1)·ReLU(z); what is outside a support on the low side stays negative.
        stage = rowwise_stage("to scale", Role.PREPARE, width, rows, [0.0] * len(rows), pieces((0.0,), (0, 0), (1, 0)))
        factors = np.array([lattice.scales[i] - 1 for i in rows])[:, None, None]
        drafts.append(Draft(replace(stage, W_2=stage.W_2 * factors), 1.0))
    return drafts


def mark_outside(lattice: Lattice, ramp: float, mark: float) -> list[Draft]:
    """Send every entry outside the support to exactly `mark`, far above all grid values.

    Three moves: clamp to just around the support, add about 1.5·mark to what is outside, clamp to mark. The first is
    a ladder, since a float64 x − (x − c) is c only while x is below 2⁵³c; the last makes all marks the same bits.
    """
    if not lattice.is_guarded:
        return []
    width = lattice.width
    # Where bringing the input to the grid rounds, mark from a little below the high end.
    shrink = 1 - 2.0**-48 if lattice.rounds_input else 1.0
    side = [
        (high - low) * scale * shrink
        for low, high, scale in zip(lattice.lows, lattice.highs, lattice.scales, strict=True)
    ]
    bound = 2 * power_of_two_above(max(side))
    rows = range(width)
    # Each coordinate has its own side, and all layers of a stage share one activation: one stage per coordinate.
    raised = [
        Draft(
            rowwise_stage(
                "mark outside",
                Role.GUARD,
                width,
                [i],
                [0.0],
                pieces((0.0, side[i]), (0, 1.5 * mark), (0, 0), (0, 1.5 * mark)),
            ),
            ramp,
        )
        for i in rows
    ]
    lowered = rowwise_stage("level marks", Role.GUARD, width, rows, [0.0] * width, pieces((mark,), (0, 0), (-1, mark)))
    return [clamp_rows("clamp input", Role.GUARD, width, bound, reach=math.inf), *raised, Draft(lowered, ramp)]
