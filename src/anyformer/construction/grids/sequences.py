"""All sequences of grid columns, counted and listed."""

import itertools
import math

import numpy as np

from anyformer.arrays import Integers
from anyformer.construction.grids.lattice import Lattice


def id_count(lattice: Lattice) -> int:
    """How many (sequence, token) pairs need an id: up to order without positions."""
    columns, tokens = lattice.columns, lattice.tokens
    if lattice.has_positions:
        return int(tokens * columns**tokens)
    return columns * math.comb(columns + tokens - 2, tokens - 1)


def all_sequences(lattice: Lattice) -> Integers:
    """Every sequence of columns, up to order without positions; shape (sequences, tokens)."""
    columns, tokens = range(lattice.columns), lattice.tokens
    rows = itertools.combinations_with_replacement(columns, tokens)
    count = math.comb(lattice.columns + tokens - 1, tokens)
    if lattice.has_positions:
        rows, count = itertools.product(columns, repeat=tokens), lattice.columns**tokens  # type: ignore[assignment]
    flat = np.fromiter(itertools.chain.from_iterable(rows), dtype=np.int64, count=count * tokens)
    return flat.reshape(-1, tokens)
