"""Attention over a block of sequences, by NumPy for every engine: its exponentials then have the same bits in all.

Networks built here have few attention layers, and these work on whole blocks: NumPy is not the bottleneck.
"""

from collections.abc import Callable

import numpy as np

from anyformer.arrays import Array
from anyformer.networks.layers import AttentionLayer, AttentionStage
from anyformer.networks.network import View
from anyformer.patterns.neighbours import Neighbours


def attend(stage: AttentionStage, views: list[View]) -> Callable[[Array, int], None]:
    """Prepare a stage: its layers with the keys that they may look at, without the heads that return nothing."""
    layers = [
        (stage[k], np.flatnonzero(stage.W_O[k].any(axis=(1, 2))).tolist(), view)
        for k, view in enumerate(views)
        if stage.W_O[k].any()
    ]

    def step(state: Array, tokens: int) -> None:
        # The padding also forms sequences; they are computed and never read.
        count = state.shape[1] // tokens
        x = [row[: count * tokens].reshape(count, tokens) for row in state]
        with np.errstate(all="ignore"):
            for layer, heads, view in layers:
                _apply(layer, heads, view, x)

    return step


def _apply(layer: AttentionLayer, heads: list[int], view: View, x: list[Array]) -> None:
    """Add what the heads return to the rows x, each of shape (sequences, tokens)."""
    mixed = [np.zeros_like(row) for row in x]
    for h in heads:
        queries = [_combined(w, x) + b for w, b in zip(layer.W_Q[h], layer.b_Q[h], strict=True)]
        keys = [_combined(w, x) for w in layer.W_K[h]]
        values = [_combined(w, x) for w in layer.W_V[h]]
        weights = _weights(layer, _scores(queries, keys), None if view is None else view[h % len(view)])
        outputs = [_mixed(weights, value) for value in values]
        for row, w in zip(mixed, layer.W_O[h], strict=True):
            row += _combined(w, outputs)
    for row, addition in zip(x, mixed, strict=True):
        row += addition


def _weights(layer: AttentionLayer, scores: Array, seen: Neighbours | None) -> Array:
    """Weights of the keys in view; the others have none. The keys stay outermost in memory."""
    if seen is None:
        return layer.probability_map(scores)
    weights = np.zeros_like(scores)
    for query in range(seen.tokens):
        keys = seen.keys_of(query)
        weights[:, query, keys] = layer.probability_map(scores[:, query, keys])
    return weights


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
