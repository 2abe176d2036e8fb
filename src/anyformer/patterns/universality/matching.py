"""Matchings of tokens to other tokens that they see."""

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.exchange.arrays import csr
from anyformer.patterns.neighbours import Neighbours


def matched_keys(seen: Neighbours) -> Integers:
    """A largest matching: for each query a different key that it sees, never itself; −1 where there is none."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    others = seen.kept(seen.indices != seen.queries())
    return np.asarray(maximum_bipartite_matching(csr(others), perm_type="column"), dtype=np.int64)
