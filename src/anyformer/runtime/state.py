"""The state of a block of tokens: one row per coordinate, padded so that vector instructions need no remainder."""

from collections.abc import Callable

import numpy as np

from anyformer.arrays import Array

# Changes the state (width, tokens) of a block in place, as one stage does.
Step = Callable[[Array, int], None]

# Rows are aligned for the longest vector loads.
ALIGNMENT = 64


def empty_state(width: int, tokens: int, multiple: int) -> Array:
    """Zeros of shape (width, tokens padded to a multiple), aligned; the columns beyond `tokens` are never read."""
    padded = -(-tokens // multiple) * multiple
    raw = np.zeros(width * padded + ALIGNMENT // 8)
    start = (-raw.ctypes.data % ALIGNMENT) // 8
    return raw[start : start + width * padded].reshape(width, padded)
