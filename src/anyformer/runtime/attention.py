"""Attention over a block of sequences, by NumPy for every engine: its exponentials then have the same bits in all.

Networks built here have few attention layers, and these work on whole blocks: NumPy is not the bottleneck.
"""

from collections.abc import Callable

import numpy as np

from anyformer.networks.activations import Array
from anyformer.networks.layers import AttentionLayer, AttentionStage


def attend(stage: AttentionStage) -> Callable[[Array, int], None]:
    """Prepare a stage: layers as they are, less the heads that return nothing."""
    layers = [(stage[k], np.flatnonzero(stage.W_O[k].any(axis=(1, 2))).tolist()) for k in range(len(stage))]

    def step(state: Array, tokens: int) -> None:
        # Padding makes up whole sequences too, as far as it goes: they are computed and never read.
        count = state.shape[1] // tokens
        x = [row[: count * tokens].reshape(count, tokens) for row in state]
        with np.errstate(all="ignore"):
            for layer, heads in layers:
                _apply(layer, heads, x)

    return step


def _apply(layer: AttentionLayer, heads: list[int], x: list[Array]) -> None:
    """Add what the heads return to the rows x, each of shape (sequences, tokens)."""
    mixed = [np.zeros_like(row) for row in x]
    for h in heads:
        queries = [_combined(w, x) + b for w, b in zip(layer.W_Q[h], layer.b_Q[h], strict=True)]
        keys = [_combined(w, x) for w in layer.W_K[h]]
        values = [_combined(w, x) for w in layer.W_V[h]]
        weights = layer.weighting(_scores(queries, keys))
        outputs = [_mixed(weights, value) for value in values]
        for row, w in zip(mixed, layer.W_O[h], strict=True):
            row += _combined(w, outputs)
    for row, addition in zip(x, mixed, strict=True):
        row += addition


def _combined(w: Array, rows: list[Array]) -> Array:
    """Σ_i w_i·rows_i, in the order of i."""
    total = w[0] * rows[0]
    for factor, row in zip(w[1:], rows[1:], strict=True):
        total += factor * row
    return np.asarray(total)


def _scores(queries: list[Array], keys: list[Array]) -> Array:
    """Σ_m queries_m·keys_m of shape (sequences, queries, keys); the keys lie outermost in memory."""
    sequences, tokens = queries[0].shape
    scores = np.empty((tokens, sequences, tokens))
    for j in range(tokens):
        scores[j] = queries[0] * keys[0][:, j, None]
        for query, key in zip(queries[1:], keys[1:], strict=True):
            scores[j] += query * key[:, j, None]
    return scores.transpose(1, 2, 0)


def _mixed(weights: Array, values: Array) -> Array:
    """Σ_j weights[…, j]·values_j, in the order of j."""
    total = weights[..., 0] * values[:, 0, None]
    for j in range(1, weights.shape[-1]):
        total += weights[..., j] * values[:, j, None]
    return np.asarray(total)
