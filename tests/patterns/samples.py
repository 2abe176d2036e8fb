"""Random patterns as plain data and as SparsityPatterns."""

import numpy as np

from anyformer.patterns import from_matrix


def random_pattern(rng, tokens, period, heads=1, loops=True):
    """Each pair with a probability that is drawn too, so that sparse and dense ones occur."""
    dense = rng.random((period, heads, tokens, tokens)) < rng.choice([0.1, 0.2, 0.3, 0.5, 0.8])
    if loops:
        dense |= np.eye(tokens, dtype=bool)
    return from_matrix(dense)


def random_tree(rng, tokens):
    """Each token but the first sees an earlier one and is seen by it; all see themselves."""
    dense = np.eye(tokens, dtype=bool)
    for token in range(1, tokens):
        other = rng.integers(token)
        dense[token, other] = dense[other, token] = True
    return from_matrix(dense)
