"""Feed-forward stages by compiled kernels: every token through all layers, or through those that may be awake."""

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.runs import LayerRun, runs
from anyformer.runtime import wide_kernels
from anyformer.runtime.kernels import Kernels, kernels, registers_for
from anyformer.runtime.sparse_rows import LinearMap
from anyformer.runtime.state import Step
from anyformer.runtime.wide import WideLayer, feed_wide, is_wide

# A step of the search costs about as much as this many layers of the vectorised walk (both measured).
SEARCH_PRICE = 96
# Shorter runs are not worth searching; in longer ones a few tokens tell how many layers are awake.
SHORT = 2 * SEARCH_PRICE
SCOUTS = 32


def multiple_of_tokens(width: int) -> int:
    """How many tokens the kernels take at once."""
    registers = registers_for(width)
    return registers.lanes * registers.vectors


def feed_all(stage: FeedForwardStage) -> Step:
    """Every layer for every token."""
    if is_wide(stage):
        return feed_wide(stage, _through_layer)
    kernel, weights = kernels(stage.width, stage.sizes["hidden_size"]), packed(stage)

    def step(state: Array, tokens: int) -> None:
        kernel.through_all(state, weights)

    return step


def feed_awake(stage: FeedForwardStage) -> Step:
    """Every token through the layers that may be awake for it; where most are, through all of them."""
    if is_wide(stage):
        return feed_wide(stage, _through_layer)
    kernel, weights = kernels(stage.width, stage.sizes["hidden_size"]), packed(stage)
    its_runs = runs(stage)

    def step(state: Array, tokens: int) -> None:
        for run in its_runs:
            _through(kernel, weights, run, state)

    return step


def times(linear: LinearMap, x: Array) -> Array:
    """W x + b for finite tokens x of shape (columns of W, tokens)."""
    return np.asarray(wide_kernels.times(*linear.rows, linear.b, np.ascontiguousarray(x)))


def _through_layer(layer: WideLayer, state: Array) -> Booleans:
    hidden, move = layer.hidden, layer.move
    return np.asarray(wide_kernels.through_layer(state, layer.limit, *hidden.rows, hidden.b, *move.rows, move.b))


def _through(kernel: Kernels, weights: Array, run: LayerRun, state: Array) -> None:
    length, everyone = run.stop - run.start, state.shape[1]
    scouts = min(SCOUTS, everyone) if length > SHORT else 0
    steps = _through_awake(kernel, weights, run, state, 0, scouts)
    if length <= SHORT or steps * SEARCH_PRICE > scouts * length:
        # The scouts have already passed the layers: they are taken out, and put back afterwards.
        kept = state[:, :scouts].copy()
        kernel.through_all(state, weights[run.start : run.stop])
        state[:, :scouts] = kept
    else:
        _through_awake(kernel, weights, run, state, scouts, everyone)


def _through_awake(kernel: Kernels, weights: Array, run: LayerRun, state: Array, first: int, last: int) -> int:
    its = run.start, run.stop, run.direction, run.ceilings.tree, run.floors.tree, run.limit
    return int(kernel.through_awake(state, first, last, weights, *its))


def packed(stage: FeedForwardStage) -> Array:
    """Weights in the order the kernels read them: per unit its bias, its row of W_1, its column of W_2; then b_2."""
    units = np.concatenate([stage.b_1[:, :, None], stage.W_1, stage.W_2.transpose(0, 2, 1)], axis=2)
    return np.ascontiguousarray(np.concatenate([units.reshape(len(stage), -1), stage.b_2], axis=1))
