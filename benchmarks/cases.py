"""The networks that are timed: feed-forward layers with random weights, in which nothing is ever asleep."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anyformer.arrays import Array
from anyformer.networks import BlockShape, FeedForwardStage, Network

HIDDEN = 4
TOKENS_A_SEQUENCE = 2


@dataclass(frozen=True)
class Case:
    """So many layers of a width on so many tokens."""

    layers: int
    width: int
    tokens: int

    def __str__(self) -> str:
        return f"{self.layers:,} layers, width {self.width}, {self.tokens:,} tokens"

    @cached_property
    def stage(self) -> FeedForwardStage:
        """Random layers; what they add is of size 1/layers, so that values stay bounded."""
        rng = np.random.default_rng([self.layers, self.width])
        inward, outward = (self.layers, HIDDEN, self.width), (self.layers, self.width, HIDDEN)
        W_1, b_1 = rng.normal(size=inward), rng.normal(size=inward[:2])
        return FeedForwardStage(
            "random", W_1, b_1, rng.normal(size=outward) / self.layers, rng.normal(size=outward[:2]) / self.layers
        )

    @property
    def network(self) -> Network:
        """The layers as a network on short sequences."""
        return Network(TOKENS_A_SEQUENCE, self.width, BlockShape(hidden_size=HIDDEN), (self.stage,))

    @cached_property
    def inputs(self) -> Array:
        """Shape (tokens, width)."""
        return np.random.default_rng(self.tokens).random((self.tokens, self.width))

    @property
    def sequences(self) -> Array:
        """The inputs as (batch, tokens, width)."""
        return self.inputs.reshape(-1, TOKENS_A_SEQUENCE, self.width)

    @property
    def product_flops(self) -> float:
        """Multiplications and additions of the two matrix products."""
        return 4.0 * self.width * HIDDEN * self.layers * self.tokens

    @property
    def all_flops(self) -> float:
        """Those, both biases, the ReLUs and the residual."""
        return self.product_flops + 2.0 * (HIDDEN + self.width) * self.layers * self.tokens
