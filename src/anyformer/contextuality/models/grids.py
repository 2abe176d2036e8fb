"""All contexts of a table, or some at random: the finite sets on which its ids can be checked."""

import itertools
import math
from typing import Final

import numpy as np

from anyformer.arrays import Integers

MOST_CONTEXTS: Final = 4096
"""More are sampled."""
# A longer number of contexts is not written out.
MOST_DIGITS = 30
# Among more columns, tokens that are drawn at random are different most of the time.
FEW_COLUMNS = 1024


def number_of_contexts(columns: int, tokens: int, up_to_order: bool) -> int | None:
    """How many there are; None if that is a number too long to read.

    Up to order, a context is a set of different columns: equal tokens cannot be told apart.
    """
    if tokens * math.log10(columns) > MOST_DIGITS:
        return None
    return math.comb(columns, tokens) if up_to_order else columns**tokens


def contexts_of_columns(columns: int, tokens: int, up_to_order: bool, most: int = MOST_CONTEXTS) -> Integers:
    """(contexts, tokens): all of them, or different ones at random, but always the same."""
    total = number_of_contexts(columns, tokens, up_to_order)
    if total is not None and total <= most:
        rows = (
            itertools.combinations(range(columns), tokens)
            if up_to_order
            else itertools.product(range(columns), repeat=tokens)
        )
        return np.array(list(rows), dtype=np.int64).reshape(-1, tokens)
    rng = np.random.default_rng(0)
    if up_to_order and columns <= FEW_COLUMNS:
        drawn = rng.random((most, columns)).argsort(axis=1)[:, :tokens]
    else:
        drawn = rng.integers(0, columns, (most, tokens))
    if up_to_order:
        drawn = np.sort(drawn, axis=1)
        drawn = drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)]
    return np.unique(drawn, axis=0)
