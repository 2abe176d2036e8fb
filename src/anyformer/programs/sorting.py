"""Sorting by comparators that are fixed in advance: Batcher's odd-even merge sort."""

import numpy as np

from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form


def comparators(count: int) -> list[tuple[int, int]]:
    """Pairs (i, j), i < j, of places to be compared in turn: each swaps its two numbers if they are out of order.

    Runs of 2p numbers are sorted by merging two sorted runs of p, for p = 1, 2, 4, …; merging compares numbers k apart,
    for k = p, p/2, …, 1, within the runs. Pairs beyond `count` are left out, as if infinite numbers stood there.
    """
    found, run = [], 1
    while run < count:
        step = run
        while step >= 1:
            for start in range(step % run, count - step, 2 * step):
                for low in range(start, min(start + step, count - step)):
                    if low // (2 * run) == (low + step) // (2 * run):
                        found.append((low, low + step))
            step //= 2
        run *= 2
    return found


def sorted_lines(builder: Builder, lines: list[Form]) -> list[Form]:
    """The forms in ascending order."""
    result = list(lines)
    for low, high in comparators(len(result)):
        first, second = result[low], result[high]
        result[low], result[high] = builder.minimum(first, second), builder.maximum(first, second)
    return result


def token_lines(builder: Builder, form: Form, count: int) -> list[Form]:
    """The form at each of the first tokens, copied to all tokens."""
    return [builder.shift(form, np.full(builder.tokens, token)) for token in range(count)]
