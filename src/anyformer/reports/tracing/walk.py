"""Walking one sequence through a stage, layer by layer, keeping only the layers that changed something."""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.labels.tables.codes import Window, window
from anyformer.networks.dtypes import FLOAT64, DType
from anyformer.networks.evaluate import apply_attention, apply_feed_forward
from anyformer.networks.layers import AttentionStage, FeedForwardStage, Stage
from anyformer.networks.network import View
from anyformer.networks.runs import LayerRun, runs

Column = tuple[float, ...]


@dataclass(frozen=True)
class Move:
    """One layer that changed one token: from where to where, and the layer's window if it has one."""

    layer: int
    token: int
    before: Column
    after: Column
    window: Window | None = None


def walk(stage: Stage, state: Array, views: list[View], dtype: DType = FLOAT64) -> tuple[Array, tuple[Move, ...]]:
    """The sequence after a stage, to the same bits as `runtime.run` gives, and every move on the way."""
    return _attend(stage, state, views, dtype) if isinstance(stage, AttentionStage) else _feed(stage, state, dtype)


def _attend(stage: AttentionStage, state: Array, views: list[View], dtype: DType) -> tuple[Array, tuple[Move, ...]]:
    moves: list[Move] = []
    for layer in range(len(stage)):
        after = apply_attention(stage[layer], state[None], views[layer], dtype)[0]
        moved = np.flatnonzero((after != state).any(axis=1)).tolist()
        seen = window(stage, layer) if moved else None
        moves += [Move(layer, token, _column(state, token), _column(after, token), seen) for token in moved]
        state = after
    return state, tuple(moves)


def _feed(stage: FeedForwardStage, state: Array, dtype: DType) -> tuple[Array, tuple[Move, ...]]:
    state, moves = state.copy(), []
    for one in runs(stage):
        for token in range(len(state)):
            layer = _next(one, one.start, state[token], dtype)
            while layer < one.stop:
                before = _column(state, token)
                state[token] = apply_feed_forward(stage[layer], state[token][None], dtype)[0]
                if before != _column(state, token):
                    moves.append(Move(layer, token, before, _column(state, token)))
                layer = _next(one, layer + 1, state[token], dtype)
    return state, tuple(sorted(moves, key=lambda move: (move.layer, move.token)))


def _next(one: LayerRun, layer: int, x: Array, dtype: DType) -> int:
    """The next layer that may be awake; every one in narrower types, as sleep is known for float64 alone."""
    if dtype != FLOAT64:
        return layer
    return int(one.next_awake(np.array([layer]), *one.reading_of(x[None]))[0])


def _column(state: Array, token: int) -> Column:
    return tuple(state[token].tolist())
