"""Feed-forward stages between quantising and mixing: one number a token, and that number replaced by a code."""

import numpy as np

from anyformer.arrays import Integers
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.stages.draft import Draft
from anyformer.construction.stages.staircase import packed, step_stage
from anyformer.networks.activations import pieces
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.roles import Role


def gather(lattice: Lattice) -> list[Draft]:
    """Collect the code in the first coordinate: z_0 += radix·z_i and z_i = 0, exactly, for every other coordinate i."""
    width = lattice.width
    if width == 1:
        return []
    rows = range(1, width)
    W_1, W_2 = np.zeros((width - 1, 1, width)), np.zeros((width - 1, width, 1))
    for layer, i in enumerate(rows):
        W_1[layer, 0, i], W_2[layer, 0, 0], W_2[layer, i, 0] = 1.0, lattice.radices[i], -1.0
    ramp_up = pieces((0.0,), (0, 0), (1, 0))
    zeros = np.zeros((width - 1, 1)), np.zeros((width - 1, width))
    return [Draft(FeedForwardStage("gather", W_1, zeros[0], W_2, zeros[1], ramp_up, Role.CODE), 1.0)]


def recode(lattice: Lattice, targets: Integers, slots: int) -> list[Draft]:
    """Raise the token with number c to targets[c]: a step at every number from the highest down, each by what is added.

    A token is at or above a number iff its own is, before and after any raise, since codes rise with their numbers.
    """
    unit = lattice.cell_width
    rises = np.diff(targets, prepend=-1) - 1
    numbers = np.flatnonzero(rises)[::-1]
    jumps = np.zeros((len(numbers), lattice.width))
    jumps[:, 0] = rises[numbers] * unit
    if not len(numbers):
        return []
    return [step_stage("recode", Role.CODE, packed(numbers.astype(np.float64) * unit, jumps, slots), unit / 2)]
