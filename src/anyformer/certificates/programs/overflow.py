"""Units and heads that write nothing are left out of the proof. Their numbers must stay finite all the same: 0 times
infinity is NaN, and it would spread."""

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.stream import most_of, must
from anyformer.networks.layers import FeedForwardLayer, layers
from anyformer.networks.network import Network


def check_no_overflow(network: Network, reach: Array) -> None:
    """Refuse a network in which some number can overflow.

    A channel is written once and bounded by `reach` before and after, so one bound serves all layers. Every sum of the
    kinds below is a bound of all its parts too, in whatever order they are added.
    """
    most = most_of(network.dtype)
    with np.errstate(all="ignore"):
        for layer in layers(network.stages):
            if isinstance(layer, FeedForwardLayer):
                hidden = np.abs(layer.W_1) @ reach + np.abs(layer.b_1)
                _must_be_below(most, hidden, np.abs(layer.W_2) @ hidden + np.abs(layer.b_2))
            else:
                query = np.abs(layer.W_Q) @ reach + np.abs(layer.b_Q)
                key, value = np.abs(layer.W_K) @ reach, np.abs(layer.W_V) @ reach
                # A weighted mean is no larger than its values.
                out = np.einsum("hwm,hm->w", np.abs(layer.W_O), value)
                _must_be_below(most, query, key, (query * key).sum(axis=1), out)


def _must_be_below(most: float, *sizes: Array) -> None:
    for size in sizes:
        must(bool((size < most).all()), "no number overflows")
