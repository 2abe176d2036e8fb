"""Networks of types narrower than float64: every operation is done in float64 and then rounded, as the definition says.

A product of two narrow numbers is exact in float64, and sums, quotients and roots of them that are rounded twice, first
to float64's 53 bits, are what one rounding gives. Feed-forward sums of float32 networks are compiled where Numba is
there: processors have its fused multiply-add.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from anyformer.arrays import Array
from anyformer.networks.dtypes import FLOAT32, DType
from anyformer.networks.fused import fused
from anyformer.networks.layers import AttentionLayer, AttentionStage, FeedForwardLayer
from anyformer.networks.network import Network, View
from anyformer.networks.probability_maps import softmax_in
from anyformer.patterns.neighbours import Neighbours
from anyformer.runtime.mixing import weights_in_view
from anyformer.runtime.sparse_rows import LinearMap

# Changes (width, sequences, tokens) into the same of the next layer.
Layer = Callable[[Array], Array]


class Narrow:
    """A network prepared to run in its own type."""

    def __init__(self, network: Network, is_compiled: bool) -> None:
        self.network, self.dtype = network, network.dtype
        self.times = _compiled_times if is_compiled and network.dtype == FLOAT32 else self._times
        self.layers = [layer for k in range(len(network.stages)) for layer in self._stage(k)]
        self.embedding = self.read_out = None
        if network.W_E is not None and network.W_R is not None and network.b_R is not None:
            self.embedding = LinearMap.of(network.W_E, np.zeros(network.stream_width))
            self.read_out = LinearMap.of(network.W_R, network.b_R)

    def run(self, sequences: Array) -> Array:
        """The output for sequences (batch, tokens, width)."""
        network, dtype = self.network, self.dtype
        state = np.ascontiguousarray(dtype.rounded(sequences).transpose(2, 0, 1))
        with np.errstate(all="ignore"):
            if self.embedding is not None:
                state = self._mapped(self.embedding, state)
            if network.positional_encoding is not None:
                state = dtype.rounded(state + network.positional_encoding.T[:, None, :])
            for layer in self.layers:
                state = layer(state)
            if self.read_out is not None:
                state = self._mapped(self.read_out, state)
        return state.transpose(1, 2, 0) + 0.0

    def _stage(self, k: int) -> list[Layer]:
        stage, views = self.network.stages[k], self.network.views(k)
        if isinstance(stage, AttentionStage):
            return [_Attention(stage[i], view, self.dtype) for i, view in enumerate(views)]
        return [self._feed_forward(stage[i]) for i in range(len(stage))]

    def _feed_forward(self, layer: FeedForwardLayer) -> Layer:
        hidden, move = LinearMap.of(layer.W_1, layer.b_1), LinearMap.of(layer.W_2, layer.b_2)

        def step(state: Array) -> Array:
            return self.dtype.rounded(state + self._mapped(move, layer.activation(self._mapped(hidden, state))))

        return step

    def _mapped(self, linear: LinearMap, state: Array) -> Array:
        """W x + b for every token of (width, sequences, tokens)."""
        x = state.reshape(len(state), -1)
        # A weight of 0 times a number that has overflowed is no 0.
        total = self.times(linear, x) if np.isfinite(x).all() else linear.all_products(x, self.dtype)
        return total.reshape(len(total), *state.shape[1:])

    def _times(self, linear: LinearMap, x: Array) -> Array:
        total = np.repeat(linear.b[:, None], x.shape[1], axis=1)
        for row in range(len(total)):
            start, stop = linear.rows.starts[row : row + 2]
            for k in range(start, stop):
                total[row] = fused(linear.rows.weights[k], x[linear.rows.columns[k]], total[row], self.dtype)
        return total


def _compiled_times(linear: LinearMap, x: Array) -> Array:
    kernels = import_module("anyformer.runtime.wide_kernels")
    starts, columns, weights = linear.rows
    narrow = (np.ascontiguousarray(part, dtype=np.float32) for part in (weights, linear.b, x))
    return np.asarray(kernels.times(starts, columns, *narrow), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Attention:
    """X + Σ over heads, by products with weights that are not 0; by all of them where a number has overflowed."""

    layer: AttentionLayer
    view: View
    dtype: DType

    def __call__(self, state: Array) -> Array:
        is_finite, moves = bool(np.isfinite(state).all()), np.zeros_like(state)
        for h in np.flatnonzero(self.layer.W_O.any(axis=(1, 2))).tolist():
            outputs = self._head(h, state, is_finite)
            every = not (is_finite and np.isfinite(outputs).all())
            for channel in range(len(state)):
                if every or self.layer.W_O[h, channel].any():
                    added = self._combined(self.layer.W_O[h, channel], outputs, every)
                    moves[channel] = self.dtype.rounded(moves[channel] + added)
        return self.dtype.rounded(state + moves)

    def _head(self, h: int, state: Array, is_finite: bool) -> Array:
        """The mixed values, (head_size, sequences, tokens)."""
        layer, dtype = self.layer, self.dtype
        queries, keys, values = (
            [self._combined(row, state, not is_finite) for row in rows]
            for rows in (layer.W_Q[h], layer.W_K[h], layer.W_V[h])
        )
        asked = [dtype.rounded(query + bias) for query, bias in zip(queries, layer.b_Q[h], strict=True)]
        scores = dtype.rounded(asked[0][:, :, None] * keys[0][:, None, :])
        for query, key in zip(asked[1:], keys[1:], strict=True):
            scores = dtype.rounded(scores + dtype.rounded(query[:, :, None] * key[:, None, :]))
        seen: Neighbours | None = None if self.view is None else self.view[h % len(self.view)]
        weights = weights_in_view(lambda some: softmax_in(dtype, some), scores, seen)
        return np.stack([self._mixed(weights, value) for value in values])

    def _mixed(self, weights: Array, value: Array) -> Array:
        total = self.dtype.rounded(weights[..., 0] * value[:, 0, None])
        for j in range(1, weights.shape[-1]):
            total = self.dtype.rounded(total + self.dtype.rounded(weights[..., j] * value[:, j, None]))
        return total

    def _combined(self, row: Array, state: "Array | Sequence[Array]", every: bool) -> Array:
        """Σ_c row_c·state_c in the order of c."""
        total = np.zeros_like(state[0])
        for c in range(len(row)) if every else np.flatnonzero(row).tolist():
            total = self.dtype.rounded(total + self.dtype.rounded(row[c] * state[c]))
        return total
