"""Feed-forward stages in NumPy: what runs where Numba is not installed. Slow, and equal to the last bit."""

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.networks.fused import fused
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.runs import LayerRun, runs
from anyformer.runtime.state import Step


def multiple_of_tokens(width: int) -> int:
    """Any number of tokens will do."""
    return 1


def feed_all(stage: FeedForwardStage) -> Step:
    """Every layer for every token."""

    def step(state: Array, tokens: int) -> None:
        for layer in range(len(stage)):
            _apply(stage, np.full(state.shape[1], layer), state)

    return step


def feed_awake(stage: FeedForwardStage) -> Step:
    """Every token through the layers that may be awake for it."""
    its_runs = runs(stage)

    def step(state: Array, tokens: int) -> None:
        for run in its_runs:
            _walk(stage, run, state)

    return step


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
