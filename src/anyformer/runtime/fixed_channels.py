"""Channels of the stream whose value at a token is the same in every sequence: positions that nothing has changed."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Booleans
from anyformer.networks.layers import AttentionStage, Stage
from anyformer.networks.network import Network


@dataclass(frozen=True, eq=False)
class FixedChannels:
    """Which channels are fixed, and the values of all that are: (stream_width, tokens), 0 for the others."""

    is_fixed: Booleans
    values: Array

    def hold(self, *readings: Array) -> bool:
        """Whether these rows of weights read nothing but fixed channels."""
        return not any(rows[:, ~self.is_fixed].any() for rows in readings)


def fixed_channels(network: Network) -> Iterator[FixedChannels]:
    """For every stage, the channels that are fixed before all of its layers.

    An embedding that writes 0 to a channel leaves exactly its positions there: 0 + E. A layer that has only weights of
    0 for it adds 0. Both hold for finite states only; nothing here may be used for others.
    """
    is_fixed: Booleans = np.zeros(network.width, dtype=np.bool_)
    if network.W_E is not None:
        is_fixed = np.asarray(~network.W_E.any(axis=1))
    positions = network.positional_encoding
    values = np.zeros((network.stream_width, network.tokens)) if positions is None else positions.T
    for stage in network.stages:
        after: Booleans = is_fixed & ~_written(stage)
        before_all: Booleans = is_fixed if len(stage) == 1 else after
        yield FixedChannels(before_all, np.where(before_all[:, None], values, 0.0))
        is_fixed = after


def _written(stage: Stage) -> Booleans:
    if isinstance(stage, AttentionStage):
        return np.asarray(stage.W_O.any(axis=(0, 1, 3)))
    return np.asarray(stage.W_2.any(axis=(0, 2)) | stage.b_2.any(axis=0))
