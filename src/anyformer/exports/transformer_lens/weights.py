"""The sizes and weights of a bridge that computes what a network computes.

TransformerLens divides scores by √d_head. So d_head is a power of four, its root a power of two, and W_Q and b_Q are
multiplied by that: both are exact. Heads are filled up with zeros, which add exactly 0 to the scores.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Array
from anyformer.errors import ExportError
from anyformer.networks.dtypes import FLOAT32, FLOAT64, DType
from anyformer.networks.layers import AttentionStage
from anyformer.networks.network import Network
from anyformer.networks.probability_maps import Softmax

DTYPES = (FLOAT64, FLOAT32)


@dataclass(frozen=True)
class Sizes:
    """The sizes of a bridge, by TransformerLens's names. Inputs are embedded as d_vocab directions of the stream."""

    n_layers: int
    n_ctx: int
    d_vocab: int
    d_vocab_out: int
    d_model: int
    n_heads: int
    d_head: int
    d_mlp: int

    def to_json(self) -> dict[str, int]:
        """The sizes by name."""
        return asdict(self)

    def config(self) -> dict[str, Any]:
        """What `TransformerBridgeConfig` is to be given besides the type: no norm, ReLU, every token seen."""
        return {
            **asdict(self),
            "act_fn": "relu",
            "attention_dir": "bidirectional",
            "normalization_type": None,
            "init_weights": False,
        }

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor of the bridge's state dict."""
        all_heads = self.n_heads * self.d_head
        found: dict[str, tuple[int, ...]] = {
            "embed.weight": (self.d_vocab, self.d_model),
            "pos_embed.weight": (self.n_ctx, self.d_model),
            "unembed.weight": (self.d_vocab_out, self.d_model),
            "unembed.bias": (self.d_vocab_out,),
        }
        for k in range(self.n_layers):
            for name, rows, columns in (
                *((f"attn.{part}", all_heads, self.d_model) for part in "qkv"),
                ("attn.o", self.d_model, all_heads),
                ("mlp.in", self.d_mlp, self.d_model),
                ("mlp.out", self.d_model, self.d_mlp),
            ):
                found[f"blocks.{k}.{name}.weight"] = (rows, columns)
                found[f"blocks.{k}.{name}.bias"] = (rows,)
        return found


def sizes_of(network: Network) -> Sizes:
    """The sizes of the bridge, from those of the network."""
    shape = network.shape
    return Sizes(
        n_layers=sum(1 for _ in network.blocks()),
        n_ctx=network.tokens,
        d_vocab=network.width,
        d_vocab_out=network.width,
        d_model=network.stream_width,
        n_heads=shape.heads,
        d_head=_power_of_four(shape.head_size),
        d_mlp=shape.hidden_size,
    )


def _power_of_four(least: int) -> int:
    size = 1
    while size < least:
        size *= 4
    return size


def check_fits(network: Network) -> None:
    """Raise unless TransformerLens can hold the network."""
    if network.pattern is not None:
        raise ExportError(
            "a network in TransformerLens must let every token attend to every token; this one has a sparse pattern, "
            "and the bridge has no mask for each head and layer. Build it without a pattern."
        )
    for stage in network.stages:
        if isinstance(stage, AttentionStage) and stage.probability_map != Softmax():
            raise ExportError(
                f"a network in TransformerLens must have softmax attention; stage {stage.name!r} has "
                f"{stage.probability_map}. Build it with softmax."
            )
    if not network.is_soft or not network.stages:
        raise ExportError("a network in TransformerLens must have stages of softmax and ReLU. Export the soft network.")
    if network.dtype not in DTYPES:
        raise ExportError(
            f"a network in TransformerLens must be of {' or '.join(map(str, DTYPES))}; this one is {network.dtype}. "
            f"Build it with one of these."
        )


def weights_of(network: Network) -> dict[str, Array]:
    """Every tensor of the bridge's state dict, by its name there. The numbers are of the network's type."""
    sizes, stream = sizes_of(network), network.stream_width
    W_E = np.eye(stream) if network.W_E is None else network.W_E
    positions = network.positional_encoding
    found = {
        "embed.weight": W_E.T,
        "pos_embed.weight": np.zeros((network.tokens, stream)) if positions is None else positions,
        "unembed.weight": np.eye(stream) if network.W_R is None else network.W_R,
        "unembed.bias": np.zeros(network.width) if network.b_R is None else network.b_R,
    }
    for k, block in enumerate(network.blocks()):
        attention, feeding = block.attention, block.feed_forward
        unscale = float(np.sqrt(sizes.d_head))
        for part, weight, bias in (
            ("attn.q", _stacked(attention.W_Q, sizes) * unscale, _stacked(attention.b_Q[..., None], sizes) * unscale),
            ("attn.k", _stacked(attention.W_K, sizes), None),
            ("attn.v", _stacked(attention.W_V, sizes), None),
            ("attn.o", _stacked(attention.W_O.swapaxes(1, 2), sizes).T, None),
            ("mlp.in", feeding.W_1, feeding.b_1),
            ("mlp.out", feeding.W_2, feeding.b_2),
        ):
            found[f"blocks.{k}.{part}.weight"] = weight
            found[f"blocks.{k}.{part}.bias"] = np.zeros(len(weight)) if bias is None else bias.reshape(-1)
    for name, array in found.items():
        _check_held(name, array, network.dtype)
    return found


def _stacked(heads: Array, sizes: Sizes) -> Array:
    """(heads, head_size, n) filled up to d_head rows a head, one head below the other."""
    filled = np.pad(heads, ((0, 0), (0, sizes.d_head - heads.shape[1]), (0, 0)))
    return np.asarray(filled.reshape(sizes.n_heads * sizes.d_head, -1))


def _check_held(name: str, array: Array, dtype: DType) -> None:
    if not (np.abs(array) <= dtype.largest).all() or not dtype.holds(array):
        raise ExportError(
            f"every weight, times √d_head for queries, must be a {dtype} number; {name} has others. "
            f"Build the network with smaller weights."
        )
