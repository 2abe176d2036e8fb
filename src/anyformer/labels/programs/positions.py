"""What a channel of positions holds, in words."""

import numpy as np

from anyformer.arrays import Array


def position_words(column: Array) -> str:
    """The numbers of one channel, one a token.

    >>> position_words(np.array([0.0, 1.0, 0.0]))
    '1 at token 1, 0 elsewhere'
    """
    places = np.arange(len(column), dtype=np.float64)
    nonzero = np.flatnonzero(column)
    if len(nonzero) == 1:
        return f"{column[nonzero[0]]:g} at token {nonzero[0]}, 0 elsewhere"
    if np.array_equal(column, places):
        return "the place of the token: 0, 1, 2, …"
    if np.array_equal(column, np.square(places)):
        return "the square of the token's place: 0, 1, 4, …"
    return "a constant of the token's place"
