"""A network as a bridge of TransformerLens, run on sequences of numbers."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import as_sequences
from anyformer.certificates.claims.certificate import Certificate
from anyformer.errors import ExportError, LabelError
from anyformer.exports.proved import Proved
from anyformer.exports.transformer_lens.labelling import labels_for
from anyformer.exports.transformer_lens.places import HEAD, Hook, Hooks, Where, blocks_of
from anyformer.exports.transformer_lens.weights import Sizes, check_fits, sizes_of, weights_of
from anyformer.extras import require
from anyformer.labels import Label, Labels, Place
from anyformer.networks.dtypes import DType
from anyformer.targets.target import Target

EXTRA, WHAT = "interpretability", "TransformerLens"
# Every block is some fifty modules with hooks of their own, and a cache keeps about forty tensors of each.
MOST_BLOCKS = 128
# TransformerLens keeps a mask of tokens × tokens bytes in every block, seen or not.
MOST_MASK_BYTES = 2**30


@dataclass(frozen=True, eq=False)
class Lens:
    """A model in TransformerLens: the bridge, and where everything is in it.

    `bridge` takes embedded sequences: `bridge(x @ bridge.W_E)`. Call the lens itself on (batch, tokens, width) numbers.
    """

    bridge: Any
    """The `TransformerBridge`; its parameters ask for no gradients."""
    sizes: Sizes
    dtype: DType
    hooks: Hooks = field(repr=False)
    certificate: Certificate = field(repr=False)
    """What is proved of the network. It holds for the bridge too: it adds the same numbers in another order."""
    labels: Labels | None = field(default=None, repr=False)
    """What every place computes; None if the certificate is not borne out, or its target is not known."""

    def __call__(self, x: Any) -> Any:
        """The outputs for sequences (batch, tokens, width), as a tensor."""
        return self.bridge(self.embedded(x))

    def run_with_cache(self, x: Any, **options: Any) -> tuple[Any, Any]:
        """The outputs, and everything that hooks have seen; options are those of `bridge.run_with_cache`."""
        outputs, cache = self.bridge.run_with_cache(self.embedded(x), **options)
        return outputs, cache

    def run_with_hooks(self, x: Any, **options: Any) -> Any:
        """The outputs with hooks that watch or change what is computed; options of `bridge.run_with_hooks`."""
        return self.bridge.run_with_hooks(self.embedded(x), **options)

    def embedded(self, x: Any) -> Any:
        """Sequences as the bridge takes them: each token as a sum of the directions of its numbers."""
        torch = require("torch", extra=EXTRA, what=WHAT)
        if not isinstance(x, torch.Tensor):
            x = torch.tensor(as_sequences(x, self.sizes.n_ctx, self.sizes.d_vocab))
        if tuple(x.shape[1:]) != (self.sizes.n_ctx, self.sizes.d_vocab) or x.ndim != 3:
            raise ExportError(
                f"sequences must have the shape (batch, {self.sizes.n_ctx}, {self.sizes.d_vocab}); "
                f"got {tuple(x.shape)}. Give as many tokens and numbers as the model was built for."
            )
        return x.to(self.bridge.W_E.dtype) @ self.bridge.W_E

    def hook(self, place: Where) -> Hook:
        """Where a place (stage, layer, kind, index) of the network is to be seen in the bridge."""
        return self.hooks.of(place)

    def places(self) -> Iterator[Place]:
        """Every place that a hook shows."""
        return self.hooks.places()

    def value(self, cache: Mapping[str, Any], place: Where) -> Any:
        """What a cache holds of a place: (batch, queries, keys) for a head, (batch, tokens) for a unit or a channel."""
        hook = self.hook(place)
        seen = cache[hook.name]
        if hook.index is None:
            return seen
        return seen[:, hook.index] if place[2] == HEAD else seen[..., hook.index]

    def described(self) -> dict[str, dict[int, Label]]:
        """From hook names to the labels of what is there, by the number of the head, the unit or the channel.

        A channel is described where it is written; later hooks of the stream hold it unchanged.
        """
        if self.labels is None:
            raise ExportError(
                "the model must have labels to be described; its certificate is of other weights, or its target is not "
                "known. Give the target: to_transformer_lens(model, target=…)."
            )
        found: dict[str, dict[int, Label]] = {}
        for place in self.places():
            with suppress(LabelError):  # a channel that is not written there
                label, hook = self.labels[place], self.hook(place)
                assert hook.index is not None
                found.setdefault(hook.name, {})[hook.index] = label
        return found


def to_transformer_lens(model: Proved, target: Target | None = None, max_blocks: int = MOST_BLOCKS) -> Lens:
    """Put a model into `TransformerBridge.boot_native`, in its own type: every token sees every token, ReLU, no norm.

    Args:
        model: a `Model`, or anything with a network of softmax and ReLU and its certificate.
        target: the function, for the labels, if the model neither holds it nor names a ready-made one.
        max_blocks: refuse a network with more blocks. Booting takes some ten milliseconds a block, and changing the
            type of a booted bridge (`bridge.to(torch.float64)`) grows with the square: ten seconds for 41 blocks.

    Raises:
        ExportError: if TransformerLens cannot hold the network, or it is deeper than `max_blocks`.
    """
    network = model.network
    check_fits(network)
    sizes = sizes_of(network)
    check_sizes(sizes, max_blocks)
    hooks = Hooks(blocks_of(network), sizes.n_heads, sizes.d_mlp, sizes.d_model)
    bridge = booted(sizes, network.dtype, weights_of(network))
    return Lens(bridge, sizes, network.dtype, hooks, model.certificate, labels_for(model, target))


def check_sizes(sizes: Sizes, max_blocks: int) -> None:
    """Raise if the bridge would be too deep or too large."""
    if sizes.n_layers > max_blocks:
        raise ExportError(
            f"a network in TransformerLens must have at most {max_blocks} blocks, for every block is dozens of modules "
            f"with hooks; this one has {sizes.n_layers}. Build it shallower (compiled, without a small hidden_size), "
            f"or pass max_blocks={sizes.n_layers}."
        )
    if sizes.n_layers * sizes.n_ctx**2 > MOST_MASK_BYTES:
        raise ExportError(
            f"the masks of all blocks must fit {MOST_MASK_BYTES} bytes, tokens² each; {sizes.n_layers} blocks of "
            f"{sizes.n_ctx} tokens need {sizes.n_layers * sizes.n_ctx**2}. Build for fewer tokens, or shallower."
        )


def booted(sizes: Sizes, dtype: DType, weights: Mapping[str, ArrayLike]) -> Any:
    """A bridge of these sizes with these weights."""
    torch = require("torch", extra=EXTRA, what=WHAT)
    lens = require("transformer_lens.model_bridge", extra=EXTRA, what=WHAT)
    config = require("transformer_lens.config", extra=EXTRA, what=WHAT)
    kind = getattr(torch, dtype.name)
    # The type is given before the hooks are there: changing it afterwards visits every module many times.
    bridge = lens.TransformerBridge.boot_native(
        config.TransformerBridgeConfig(**sizes.config(), dtype=kind), dtype=kind, model_name="anyformer"
    )
    bridge.load_state_dict({name: torch.tensor(np.asarray(array), dtype=kind) for name, array in weights.items()})
    bridge.requires_grad_(False)
    return bridge.eval()
