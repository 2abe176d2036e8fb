"""Capacity two other ways: by trying all cuts, and as the rank of random matrices. Nothing is shared with the package.

A pattern is `layers[l][k]`, the set of tokens that token k sees in layer l; a token also keeps its own value.
"""

import itertools

import numpy as np

PRIME = 2_147_483_629  # the largest below 2³¹ but two; products of remainders fit into 62 bits


def steps(layers, count):
    return [[sees | {k} for k, sees in enumerate(layers[depth % len(layers)])] for depth in range(count)]


def fewest_places(layers, count, sources, targets):
    """The smallest number of places (layer, token) that meet every route: Menger's number, by trying all sets."""
    places = list(itertools.product(range(count + 1), range(len(layers[0]))))
    for size in range(len(places) + 1):
        for closed in itertools.combinations(places, size):
            if not is_open(steps(layers, count), sources, targets, set(closed)):
                return size
    raise AssertionError("closing every place leaves a route")


def is_open(layers, sources, targets, closed):
    """Whether a route from an input of the sources to an output of the targets avoids the closed places."""
    here = {token for token in sources if (0, token) not in closed}
    for depth, layer in enumerate(layers, start=1):
        here = {k for k, sees in enumerate(layer) if sees & here and (depth, k) not in closed}
    return bool(here & set(targets))


def rank_of_random_weights(layers, count, sources, targets, rng):
    """The rank from sources to targets of a linear network with random weights modulo a prime.

    A minor of the product is a sum over systems of disjoint routes, each with a monomial of its own (Lindström, Gessel,
    Viennot). So no weights give more than the most disjoint routes, and all but one in about PRIME / size give as much.
    """
    product = np.eye(len(layers[0]), dtype=np.int64)
    for layer in steps(layers, count):
        weights = np.zeros_like(product)
        for k, sees in enumerate(layer):
            weights[k, sorted(sees)] = rng.integers(1, PRIME, len(sees))
        product = times(weights, product)
    return rank(product[np.ix_(list(targets), list(sources))])


def times(left, right):
    """Modulo the prime, a term at a time: no sum leaves 63 bits."""
    total = np.zeros((left.shape[0], right.shape[1]), dtype=np.int64)
    for k in range(left.shape[1]):
        total = (total + left[:, k, None] * right[None, k] % PRIME) % PRIME
    return total


def rank(matrix):
    """Gauss's elimination modulo the prime."""
    matrix, found = matrix.copy() % PRIME, 0
    for column in range(matrix.shape[1]):
        rows = np.flatnonzero(matrix[found:, column]) + found
        if not len(rows):
            continue
        matrix[[found, rows[0]]] = matrix[[rows[0], found]]
        matrix[found] = matrix[found] * pow(int(matrix[found, column]), -1, PRIME) % PRIME
        factors = matrix[found + 1 :, column].copy()
        matrix[found + 1 :] = (matrix[found + 1 :] - factors[:, None] * matrix[found][None] % PRIME) % PRIME
        found += 1
        if found == len(matrix):
            break
    return found
