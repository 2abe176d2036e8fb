"""The loops of wide networks, compiled by Numba: rows of few weights times blocks of tokens.

A block's hidden units and moves stay in the second-level cache. Every product is fused with its sum, because the
definition says so (`networks.evaluate`).
"""

import numpy as np

from anyformer.runtime.kernels import fused
from anyformer.vector_code import compiled

# Tokens of a block: long enough for the vector units, short enough for the caches (measured).
TOGETHER = 64


@compiled
def add_products(starts, columns, weights, b, x, first, count, total):
    """total = W x + b for the tokens first..first+count−1 of x."""
    for row in range(len(b)):
        sums = total[row, :count]
        sums[:] = b[row]
        for k in range(starts[row], starts[row + 1]):
            weight = weights[k]
            factors = x[columns[k], first : first + count]
            for token in range(count):
                sums[token] = fused(weight, factors[token], sums[token])


@compiled
def times(starts, columns, weights, b, x):
    """W x + b for all tokens of x."""
    total = np.empty((len(b), x.shape[1]), dtype=x.dtype)
    add_products(starts, columns, weights, b, x, 0, x.shape[1], total)
    return total


@compiled
def through_layer(state, limit, starts_1, columns_1, weights_1, b_1, starts_2, columns_2, weights_2, b_2):
    """One feed-forward layer in place, for the tokens with Σ|x| <= limit; which tokens were left alone."""
    width, tokens = state.shape
    left = np.zeros(tokens, dtype=np.bool_)
    hidden, moves, sizes = np.empty((len(b_1), TOGETHER)), np.empty((width, TOGETHER)), np.empty(TOGETHER)
    for first in range(0, tokens, TOGETHER):
        count = min(TOGETHER, tokens - first)
        if not sum_sizes(state, first, count, sizes) <= limit:
            for token in range(count):
                left[first + token] = not sizes[token] <= limit
        add_products(starts_1, columns_1, weights_1, b_1, state, first, count, hidden)
        for unit in range(len(b_1)):
            values = hidden[unit, :count]
            for token in range(count):
                values[token] = max(values[token], 0.0)
        add_products(starts_2, columns_2, weights_2, b_2, hidden, 0, count, moves)
        for i in range(width):
            row, move, stays = state[i, first : first + count], moves[i, :count], left[first : first + count]
            for token in range(count):
                row[token] = row[token] if stays[token] else row[token] + move[token]
    return left


@compiled
def sum_sizes(state, first, count, sizes):
    """Σ|x| of every token, and the sum of them all: adding keeps ∞ and NaN, which a maximum may lose."""
    sizes[:count] = 0.0
    for i in range(state.shape[0]):
        row = state[i, first : first + count]
        for token in range(count):
            sizes[token] += abs(row[token])
    together = 0.0
    for token in range(count):
        together += sizes[token]
    return together
