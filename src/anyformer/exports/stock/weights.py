"""The weights of an `nn.TransformerEncoder` that computes what a network computes, behind its layer norms."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import ExportError
from anyformer.exports.stock.norm import Norm
from anyformer.networks.layers import AttentionLayer, FeedForwardLayer
from anyformer.networks.network import Network


@dataclass(frozen=True)
class EncoderSizes:
    """The sizes of the encoder, by PyTorch's names."""

    d_model: int
    nhead: int
    dim_feedforward: int
    num_layers: int

    @property
    def head_size(self) -> int:
        """Of every head."""
        return self.d_model // self.nhead


def encoder_sizes(network: Network) -> EncoderSizes:
    """Two numbers for each channel and two more, filled up so that all heads have the same size, which is enough."""
    shape, needed = network.shape, 2 * network.stream_width + 2
    size = max(shape.head_size, -(-needed // shape.heads))
    return EncoderSizes(size * shape.heads, shape.heads, shape.hidden_size, sum(1 for _ in network.blocks()))


class Encoder:
    """The arrays of the module, by their names in its state dict. Pairs are (i, k + i); the large one comes last."""

    def __init__(self, network: Network, sizes: EncoderSizes, norm: Norm) -> None:
        self.network, self.sizes, self.norm = network, sizes, norm
        self.channels = network.stream_width

    def arrays(self) -> dict[str, Array]:
        """All of them, as numbers of the network's type."""
        network, sizes = self.network, self.sizes
        W_E = np.eye(self.channels) if network.W_E is None else network.W_E
        W_R = np.eye(self.channels) if network.W_R is None else network.W_R
        positions = np.zeros((network.tokens, sizes.d_model))
        if network.positional_encoding is not None:
            positions[:, : self.channels] = network.positional_encoding
            positions[:, self.channels : 2 * self.channels] = -network.positional_encoding
        positions[:, 2 * self.channels : 2 * self.channels + 2] = self.norm.large, -self.norm.large
        found = {
            "embed.weight": self._written(W_E),
            "positions": positions,
            # No norm stands before the read-out.
            "read_out.weight": self._read(W_R, 0.5),
            "read_out.bias": np.zeros(network.width) if network.b_R is None else network.b_R,
        }
        for k, block in enumerate(network.blocks()):
            for name, array in (*self._attention(block.attention), *self._feed_forward(block.feed_forward)):
                found[f"encoder.layers.{k}.{name}"] = array
        rounded = {name: network.dtype.rounded(array) for name, array in found.items()}
        for name, array in rounded.items():
            if not np.isfinite(array).all():
                raise ExportError(
                    f"every weight of the encoder must be a finite {network.dtype}; {name} overflows. Build the model "
                    f"with smaller weights, or in float64."
                )
        return rounded

    def _attention(self, layer: AttentionLayer) -> Iterator[tuple[str, Array]]:
        width, scale = self.sizes.d_model, math.sqrt(self.sizes.head_size)
        half = self.norm.unscale / 2
        queries = self._heads(self._read(layer.W_Q, half * scale))
        keys, values = (self._heads(self._read(W, half)) for W in (layer.W_K, layer.W_V))
        biases = np.zeros(3 * width)
        biases[:width] = self._heads(layer.b_Q[..., None] * scale)[:, 0]
        out = self._heads(layer.W_O.swapaxes(1, 2)).T
        yield "self_attn.in_proj_weight", np.concatenate([queries, keys, values])
        yield "self_attn.in_proj_bias", biases
        yield "self_attn.out_proj.weight", self._written(out)
        yield "self_attn.out_proj.bias", np.zeros(width)
        yield from self._norm("norm1")

    def _feed_forward(self, layer: FeedForwardLayer) -> Iterator[tuple[str, Array]]:
        yield "linear1.weight", self._read(layer.W_1, self.norm.unscale / 2)
        yield "linear1.bias", layer.b_1
        yield "linear2.weight", self._written(layer.W_2)
        yield "linear2.bias", self._written(layer.b_2[:, None])[:, 0]
        yield from self._norm("norm2")

    def _norm(self, name: str) -> Iterator[tuple[str, Array]]:
        yield f"{name}.weight", np.ones(self.sizes.d_model)
        yield f"{name}.bias", np.zeros(self.sizes.d_model)

    def _read(self, W: Array, factor: float) -> Array:
        """Weights (…, channels) that read the difference of every pair, times a factor."""
        rest = np.zeros((*W.shape[:-1], self.sizes.d_model - 2 * self.channels))
        return np.concatenate([W * factor, -W * factor, rest], axis=-1)

    def _written(self, W: Array) -> Array:
        """Weights (channels, …) that write every channel and its negative."""
        return np.concatenate([W, -W, np.zeros((self.sizes.d_model - 2 * self.channels, W.shape[1]))])

    def _heads(self, rows: Array) -> Array:
        """(heads, rows, n) filled up to the encoder's head size, one head below the other."""
        filled = np.pad(rows, ((0, 0), (0, self.sizes.head_size - rows.shape[1]), (0, 0)))
        return np.asarray(filled.reshape(self.sizes.d_model, -1))
