"""Weights on their way into layers: rows over the channels of the stream, and groups of hidden units."""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array


@dataclass(frozen=True, eq=False)
class Row:
    """Weights over all channels, and a constant."""

    weights: Array
    constant: float = 0.0

    @classmethod
    def of_channel(cls, channel: int, width: int) -> "Row":
        """A channel by itself."""
        weights = np.zeros(width)
        weights[channel] = 1.0
        return cls(weights)

    def plus(self, other: "Row", factor: float = 1.0) -> "Row":
        """This row and a multiple of another."""
        return Row(self.weights + factor * other.weights, self.constant + factor * other.constant)


@dataclass(frozen=True, eq=False)
class Group:
    """Hidden units, and the channels that they write, each with the weights of all units."""

    rows: Array
    biases: Array
    outputs: dict[int, Array]


def joined(groups: list[Group], width: int) -> tuple[Array, Array, Array]:
    """All groups as one layer: W_1, b_1, W_2."""
    W_2 = np.zeros((width, sum(len(group.biases) for group in groups)))
    at = 0
    for group in groups:
        for channel, weights in group.outputs.items():
            W_2[channel, at : at + len(weights)] = weights
        at += len(group.biases)
    return np.concatenate([group.rows for group in groups]), np.concatenate([group.biases for group in groups]), W_2
