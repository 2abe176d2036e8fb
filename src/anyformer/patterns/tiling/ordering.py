"""Orders of queries in which neighbours share keys."""

import numpy as np

from anyformer.arrays import Integers

_HASHES, _SEED = 3, 0


def by_shared_keys(queries: Integers, keys: Integers, tokens: int) -> Integers:
    """All queries, those next to each other whose sets of keys are alike.

    The smallest hash of a set of keys (minhash) is equal for two sets with the probability |A ∩ B|/|A ∪ B|. Sorting by
    three of them brings equal sets together, and alike ones often.

    Args:
        queries: of every pair, rising.
        keys: of every pair.
        tokens: how many queries there are; those without a pair come last.
    """
    rng = np.random.default_rng(_SEED)
    starts = np.flatnonzero(np.append(True, queries[1:] != queries[:-1]))
    smallest = []
    for _ in range(_HASHES):
        least = np.full(tokens, tokens, dtype=np.int64)
        least[queries[starts]] = np.minimum.reduceat(rng.permutation(tokens)[keys], starts)
        smallest.append(least)
    return np.lexsort((np.arange(tokens), *reversed(smallest)))
