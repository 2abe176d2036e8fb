"""The sets S_k^t themselves, hop by hop, as matrices: for pictures and small patterns."""

from collections.abc import Iterator

import numpy as np

from anyformer.arrays import Booleans, Integers
from anyformer.patterns.exchange.arrays import csr
from anyformer.patterns.pattern import SparsityPattern


def reached(pattern: SparsityPattern) -> Iterator[Booleans]:
    """S^1, S^2, … without end, shape (tokens, tokens): true where the output (row) has seen the input (column).

    >>> from anyformer.patterns import SlidingWindow
    >>> [int(matrix.sum()) for matrix, _ in zip(reached(SlidingWindow().at(4)), range(3))]
    [10, 14, 16]
    """
    layers = [csr(seen).astype(np.int64) for seen in pattern.seen]
    seen: Booleans = np.eye(pattern.tokens, dtype=np.bool_)
    while True:
        for layer in layers:
            seen = layer @ seen.astype(np.int64) > 0
            yield seen


def first_hops(pattern: SparsityPattern, most: int) -> Integers:
    """The smallest t up to `most` with input (column) in S^t of output (row), shape (tokens, tokens); 0 if none."""
    first = np.zeros((pattern.tokens, pattern.tokens), dtype=np.int64)
    for hop, seen in zip(range(1, most + 1), reached(pattern), strict=False):
        first[seen & (first == 0)] = hop
        if first.all():
            break
    return first
