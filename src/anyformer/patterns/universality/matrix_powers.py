"""The smallest s of Paper B's condition 3 where some token does not see itself: exact, by Boolean matrix powers.

Write P_r for the product of the first r layers and M = P_p for a whole period, so that S^{r + pq} = P_r M^q.

If P_r M^q is full for some q ≥ 1, then every column of M holds a one, so that (full)·M is full: P_r M^q stays full for
all larger q. And the powers of a Boolean n×n matrix are periodic from (n − 1)² + 1 on. So P_r M^q is full for some
q ≥ 1 if and only if it is at any one q ≥ (n − 1)² + 1, and the smallest such q is found by bisection.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from anyformer.arrays import Booleans
from anyformer.patterns.neighbours import Neighbours


def smallest_hops_by_powers(layers: Sequence[Neighbours]) -> int | tuple[int, int, int]:
    """The smallest s with S_k^s = all tokens for every k; or, if there is none, (input, output, hops).

    In the second case the output has not seen the input after this many hops, when the powers are periodic already.
    """
    prefixes = list(accumulate((_dense(layer) for layer in layers), lambda before, layer: _product(layer, before)))
    for hops, prefix in enumerate(prefixes, start=1):
        if prefix.all():
            return hops
    period, tokens = len(layers), layers[0].tokens
    squares = _squares(prefixes[-1], ((tokens - 1) ** 2 + 1).bit_length())
    most = (1 << len(squares)) - 1
    ends = [_last_not_full(prefix, squares) for prefix in prefixes]
    found = [hops + period * (power + 1) for hops, (power, _) in enumerate(ends, start=1) if power < most]
    if found:
        return min(found)
    power, never_full = ends[-1]
    output, source = (int(token) for token in np.argwhere(~never_full)[0])
    return source, output, period * (power + 1)


def _squares(matrix: Booleans, count: int) -> list[Booleans]:
    """matrix^(2^i) for i below count."""
    return list(accumulate(range(1, count), lambda power, _: _product(power, power), initial=matrix))


def _last_not_full(prefix: Booleans, squares: list[Booleans]) -> tuple[int, Booleans]:
    """The largest q below 2^(number of squares) for which prefix·M^q is not full, and that product."""
    power, product = 0, prefix
    for exponent, square in reversed(list(enumerate(squares))):
        further = _product(product, square)
        if not further.all():
            power, product = power + 2**exponent, further
    return power, product


def _product(left: Booleans, right: Booleans) -> Booleans:
    # Counts up to 2^24 are exact in float32, for which multiplication is fastest.
    return np.asarray(left.astype(np.float32) @ right.astype(np.float32) > 0)


def _dense(neighbours: Neighbours) -> Booleans:
    dense = np.zeros((neighbours.tokens, neighbours.tokens), dtype=np.bool_)
    dense[neighbours.queries(), neighbours.indices] = True
    return dense
