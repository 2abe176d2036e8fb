"""Attention over a block of sequences, by NumPy for every engine: its exponentials then have the same bits in all.

A layer has two ways. The short one leaves out what adds 0 (`heads`), and reuses weights that are the same for
every sequence. It is the definition while queries, keys, values and what the heads return are finite. A limit on the
state sees to the first three, and what the heads return is looked at. Otherwise the block takes the other way, which
leaves out only heads that return nothing, as the definition does.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.networks.layers import AttentionLayer, AttentionStage
from anyformer.networks.network import View
from anyformer.runtime.fixed_channels import FixedChannels
from anyformer.runtime.heads import Head
from anyformer.runtime.mixing import mixed, scores, weights_in_view
from anyformer.runtime.sparse_rows import safe_size


def attend(stage: AttentionStage, views: list[View], fixed: FixedChannels) -> Callable[[Array, int], None]:
    """Prepare a stage: its layers with the keys that they may look at, without the heads that return nothing."""
    layers = [_Layer.of(stage[k], view, fixed) for k, view in enumerate(views) if stage.W_O[k].any()]

    def step(state: Array, tokens: int) -> None:
        # The padding also forms sequences; they are computed and never read.
        count = state.shape[1] // tokens
        x = [row[: count * tokens].reshape(count, tokens) for row in state]
        with np.errstate(all="ignore"):
            for layer in layers:
                if not (layer.is_safe(state) and layer.apply(x)):
                    layer.apply_every_product(x)

    return step


@dataclass(frozen=True, eq=False)
class _Layer:
    """A layer, its heads that return something, and up to which Σ|x| its queries, keys and values are finite."""

    weights: AttentionLayer
    view: View
    active: list[int]
    heads: list[Head]
    limit: float

    @classmethod
    def of(cls, layer: AttentionLayer, view: View, fixed: FixedChannels) -> "_Layer":
        active = np.flatnonzero(layer.W_O.any(axis=(1, 2))).tolist()
        with np.errstate(all="ignore"):
            heads = [Head.of(layer, h, None if view is None else view[h % len(view)], fixed) for h in active]
        inward = np.stack([layer.W_Q[active], layer.W_K[active], layer.W_V[active]])
        return cls(layer, view, active, heads, safe_size(inward, layer.b_Q[active]))

    def is_safe(self, state: Array) -> bool:
        """Whether all tokens are so small that no query, key or value overflows. False for NaN."""
        most = self.limit / len(state)
        return bool(state.max(initial=0.0) <= most and state.min(initial=0.0) >= -most)

    def apply(self, x: list[Array]) -> bool:
        """Add what the heads return to the rows x, each of shape (sequences, tokens); nothing if it is not finite."""
        moves: dict[int, Array] = {}
        for head in self.heads:
            outputs = head.outputs(x)
            if not all(np.isfinite(output.sum()) for output in outputs):
                return False
            for channel, reading in head.writes:
                addition = reading(outputs)
                moves[channel] = moves[channel] + addition if channel in moves else addition
        for channel, move in moves.items():
            x[channel] += move
        return True

    def apply_every_product(self, x: list[Array]) -> None:
        """The same by the definition, zeros included."""
        layer, moves = self.weights, [np.zeros_like(row) for row in x]
        for h in self.active:
            queries = [_combined(w, x) + b for w, b in zip(layer.W_Q[h], layer.b_Q[h], strict=True)]
            keys = [_combined(w, x) for w in layer.W_K[h]]
            values = [_combined(w, x) for w in layer.W_V[h]]
            seen = None if self.view is None else self.view[h % len(self.view)]
            weights = weights_in_view(layer.probability_map, scores(queries, keys), seen)
            outputs = [mixed(weights, value) for value in values]
            for move, w in zip(moves, layer.W_O[h], strict=True):
                move += _combined(w, outputs)
        for row, move in zip(x, moves, strict=True):
            row += move


def _combined(w: Array, rows: list[Array]) -> Array:
    """Σ_i w_i·rows_i, in the order of i."""
    total = w[0] * rows[0]
    for factor, row in zip(w[1:], rows[1:], strict=True):
        total += factor * row
    return np.asarray(total)
