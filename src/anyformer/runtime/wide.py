"""Feed-forward stages of wide networks: few layers with many hidden units, most weights 0.

An engine takes a block of tokens through one layer by the weights that are not 0. It leaves the tokens alone for which
that might not be the definition (`sparse_rows`); these few are computed here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.networks.layers import FeedForwardLayer, FeedForwardStage
from anyformer.runtime.sparse_rows import LinearMap
from anyformer.runtime.state import Step

# The kernels for narrow networks hold a token's coordinates in registers and take every product. Up to here they are
# faster even where most weights are 0 (measured); beyond, they spill and take long to compile.
WIDE = 8
# In longer stages it pays to search for the layers that are awake.
FEW_LAYERS = 192
# Tokens that need every product are taken so many at once, to bound memory.
TOGETHER = 64


@dataclass(frozen=True, eq=False)
class WideLayer:
    """x + W_2 max(W_1 x + b_1, 0) + b_2, as two linear maps."""

    hidden: LinearMap
    move: LinearMap
    limit: float

    @classmethod
    def of(cls, layer: FeedForwardLayer) -> "WideLayer":
        """Prepare a layer; hidden units are finite up to the limit, so they may skip weights of W_2 too."""
        hidden = LinearMap.of(layer.W_1, layer.b_1)
        return cls(hidden, LinearMap.of(layer.W_2, layer.b_2), hidden.limit)

    def all_products(self, x: Array) -> Array:
        """The layer's output for tokens (width, tokens) by the definition, zeros included."""
        with np.errstate(all="ignore"):
            parts = [x[:, k : k + TOGETHER] for k in range(0, x.shape[1], TOGETHER)]
            moved = [p + self.move.all_products(np.maximum(self.hidden.all_products(p), 0.0)) for p in parts]
        return np.concatenate(moved, axis=1)


# Takes a state through a layer in place and tells which tokens it has left alone.
Through = Callable[[WideLayer, Array], Booleans]


def is_wide(stage: FeedForwardStage) -> bool:
    """Whether a stage is worth the sparse form: wide, and too short to be searched."""
    return stage.width > WIDE and len(stage) < FEW_LAYERS


def feed_wide(stage: FeedForwardStage, through: Through) -> Step:
    """Every token through every layer; `through` is the engine's part."""
    layers = [WideLayer.of(stage[k]) for k in range(len(stage))]

    def step(state: Array, tokens: int) -> None:
        for layer in layers:
            left = through(layer, state)
            if left.any():
                state[:, left] = layer.all_products(state[:, left])

    return step
