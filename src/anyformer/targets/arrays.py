"""The one array type of this folder, and how an array stands in a message."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


def shown(array: Array) -> str:
    """The array as nested lists of the shortest floats that read back to the same bits.

    >>> shown(np.array([[0.1], [0.25]]))
    '[[0.1], [0.25]]'
    """
    return repr(array.tolist())
