"""The definition, word for word and slowly: every pair of places, in plain Python."""

import math
from itertools import combinations


def distance(one, other):
    return math.sqrt(sum((float(a) - float(b)) ** 2 for a, b in zip(one, other, strict=True)))


def context(row, equivariant):
    return tuple(sorted(row)) if equivariant else tuple(row)


def kept(rows, equivariant):
    """The first sequence of each context."""
    found = {}
    for number, row in enumerate(rows):
        found.setdefault(context(row, equivariant), number)
    return list(found.values())


def closest_pairs(rows, vectors, equivariant):
    """For each kind, the smallest distance and the first pair that has it; None if there is no pair.

    Args:
        rows: the token numbers of sequences that are all different contexts.
        vectors: for each of them its vectors.
        equivariant: whether equal tokens of one sequence are not compared.
    """
    places = [(s, p) for s, row in enumerate(rows) for p in range(len(row))]
    best = {"within": None, "same_token": None, "any_tokens": None}

    def offer(kind, d, pair):
        if best[kind] is None or d < best[kind][0]:
            best[kind] = (d, pair)

    for (s, p), (t, q) in combinations(places, 2):
        d = distance(vectors[s][p], vectors[t][q])
        same = rows[s][p] == rows[t][q]
        if s == t:
            if not (equivariant and same):
                offer("within", d, ((s, p), (t, q)))
            continue
        offer("any_tokens", d, ((s, p), (t, q)))
        if same:
            offer("same_token", d, ((s, p), (t, q)))
    return best


def nearest_elsewhere(vectors, contexts):
    """For each vector the smallest distance to one of another context."""
    return [
        min((distance(x, y) for y, c in zip(vectors, contexts, strict=True) if c != own), default=math.inf)
        for x, own in zip(vectors, contexts, strict=True)
    ]
