"""Step 3: one layer per id moves the token that has it to its output. Feed-forward only."""

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.stages.draft import Draft
from anyformer.networks.activations import step
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.roles import Role


def value_map(lattice: Lattice, columns: Integers, ids: Integers, outputs: Array, lift: float) -> Draft:
    """Move the token at id k to outputs[k], for all ids from the **largest down**.

    A token still waiting sits a cell or more below the threshold, where both ReLUs of the step are exactly 0; a token
    already moved sits below all ids; the token that matches sits exactly where the ramp ends, so nothing large is
    ever multiplied. The lift puts all ids above every value that a moved token can have.
    """
    order = np.argsort(-ids)
    delta, radices = lattice.cell_width, np.array(lattice.radices, dtype=np.float64)
    entries = columns[order] * delta
    places = ids[order].astype(np.float64) * delta + lift
    # Only the first coordinate was shifted: it is the id minus the share of the other coordinates.
    entries[:, 0] = places - entries[:, 1:] @ radices[1:]
    layers = len(ids)
    W_1 = np.broadcast_to(radices, (layers, 1, lattice.width))
    W_2 = (outputs[order] - entries)[:, :, None]
    moves = FeedForwardStage(
        "value map", W_1, -places[:, None], W_2, np.zeros((layers, lattice.width)), step(), Role.VALUE
    )
    return Draft(moves, delta / 2)


def lifted(lattice: Lattice, lift: float) -> Draft:
    """Raise the first coordinate of every token."""
    zeros = np.zeros((1, 1, lattice.width))
    b_2 = np.zeros((1, lattice.width))
    b_2[0, 0] = lift
    return Draft(FeedForwardStage("lift", zeros, zeros[..., 0], zeros.swapaxes(1, 2), b_2, step(), Role.LIFT), 1.0)


def round_outputs(outputs: Array, quanta: Array) -> Array:
    """Round each coordinate to a multiple of its quantum, so that `output − id` is a float and nothing rounds later."""
    return np.asarray(np.rint(outputs / quanta) * quanta)
