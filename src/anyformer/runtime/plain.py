"""Feed-forward stages in NumPy: what runs where Numba is not installed. Slow, and equal to the last bit."""

import numpy as np

from anyformer.arrays import Array, Booleans, Integers
from anyformer.networks.fused import fused
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.runs import LayerRun, runs
from anyformer.runtime.sparse_rows import LinearMap
from anyformer.runtime.state import Step
from anyformer.runtime.wide import WideLayer, feed_wide, is_wide

# A fused sum takes dozens of passes over its factors: so many numbers at once stay in the cache.
NUMBERS_AT_ONCE = 1 << 15


def multiple_of_tokens(width: int) -> int:
    """Any number of tokens will do."""
    return 1


def feed_all(stage: FeedForwardStage) -> Step:
    """Every layer for every token."""
    if is_wide(stage):
        return feed_wide(stage, _through_layer)

    def step(state: Array, tokens: int) -> None:
        for layer in range(len(stage)):
            _apply(stage, np.full(state.shape[1], layer), state)

    return step


def feed_awake(stage: FeedForwardStage) -> Step:
    """Every token through the layers that may be awake for it."""
    if is_wide(stage):
        return feed_wide(stage, _through_layer)
    its_runs = runs(stage)

    def step(state: Array, tokens: int) -> None:
        for run in its_runs:
            _walk(stage, run, state)

    return step


def times(linear: LinearMap, x: Array) -> Array:
    """W x + b for finite tokens x of shape (columns of W, tokens): the first weight of every row, then the second …"""
    starts, columns, weights = linear.rows
    total = np.repeat(linear.b[:, None], x.shape[1], axis=1)
    counts = np.diff(starts)
    for turn in range(int(counts.max(initial=0))):
        rows = np.flatnonzero(counts > turn)
        # Rows with a power of two as their weight come first: multiplying by it is exact, and `fused` is quick.
        rows = rows[np.argsort(np.abs(np.frexp(weights[starts[rows] + turn])[0]), kind="stable")]
        at_once = max(1, NUMBERS_AT_ONCE // max(1, x.shape[1]))
        for some in np.split(rows, range(at_once, len(rows), at_once)):
            places = starts[some] + turn
            total[some] = fused(weights[places, None], x[columns[places]], total[some])
    return total


def _through_layer(layer: WideLayer, state: Array) -> Booleans:
    with np.errstate(all="ignore"):
        left = np.asarray(~(np.abs(state).sum(axis=0) <= layer.limit))
        x = np.where(left, 0.0, state) if left.any() else state
        moves = times(layer.move, np.maximum(times(layer.hidden, x), 0.0))
        state += np.where(left, 0.0, moves)
    return left


def _walk(stage: FeedForwardStage, run: LayerRun, state: Array) -> None:
    tokens = np.arange(state.shape[1])
    layer = np.full(len(tokens), run.start)
    while len(tokens):
        here = state[:, tokens]
        layer = run.next_awake(layer, *run.reading_of(here.T))
        awake = layer < run.stop
        tokens, layer, here = tokens[awake], layer[awake], here[:, awake]
        _apply(stage, layer, here)
        state[:, tokens] = here
        layer = layer + 1


def _apply(stage: FeedForwardStage, layer: Integers, x: Array) -> None:
    """One layer of its own for every token, in place; x has shape (width, tokens)."""
    moves = [stage.b_2[layer, i] for i in range(len(x))]
    with np.errstate(all="ignore"):
        for unit in range(stage.b_1.shape[1]):
            hidden = stage.b_1[layer, unit]
            for i, row in enumerate(x):
                hidden = fused(stage.W_1[layer, unit, i], row, hidden)
            hidden = np.maximum(hidden, 0.0)
            moves = [fused(stage.W_2[layer, i, unit], hidden, move) for i, move in enumerate(moves)]
        for row, move in zip(x, moves, strict=True):
            row += move
