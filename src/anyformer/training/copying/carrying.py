"""What a pattern can carry from one half to the other, whatever is learned: its links, its reach, its capacity."""

import statistics

import numpy as np

from anyformer.patterns import SparsityPattern
from anyformer.patterns.bottlenecks.flow import most_routes, unrolled
from anyformer.training.copying.task import Alphabet


def share_of_links(pattern: SparsityPattern, layers: int) -> float:
    """The mean share of keys that a head sees, over the layers of a network and their heads."""
    used = [pattern.layers[layer % pattern.period] for layer in range(layers)]
    shares = [statistics.fmean(each.connections for each in lists) / pattern.tokens**2 for lists in used]
    return statistics.fmean(shares)


def within_reach(pattern: SparsityPattern, layers: int, alphabet: Alphabet) -> float:
    """The share of symbols whose copy sees them, directly or through others, in so many layers."""
    reached = np.eye(pattern.tokens, dtype=np.bool_)  # (output, input)
    for layer in range(layers):
        seen, after = pattern.layer(layer), reached.copy()
        np.logical_or.at(after, seen.queries(), reached[seen.indices])
        reached = after
    places = np.arange(1, alphabet.half)
    return float(reached[places + alphabet.half, places].mean())


def carried(pattern: SparsityPattern, layers: int, alphabet: Alphabet) -> int:
    """The capacity from the first s to the second: the most routes of which no two share a token after a layer."""
    network = unrolled([pattern.layer(layer) for layer in range(layers)])
    return most_routes(network, range(1, alphabet.half), range(alphabet.half + 1, alphabet.tokens))
