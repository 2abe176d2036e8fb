"""How far a network moves in real arithmetic when uniform attention is folded into a constant matrix.

Folding writes the share 1/n as a number of the network's type. Where that is not exact, the folded network is another
one. What follows bounds the difference, channel by channel: `size` bounds a channel for all tokens and inputs of the
domain, `off` how far the folded network's channel is away. All numbers are non-negative, so the float64 sums are off by
a factor of less than 1 + 2⁻³⁰, which is added at the end.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from anyformer.arrays import Array
from anyformer.exports.onnx.plain import is_uniform
from anyformer.networks.layers import AttentionLayer, FeedForwardLayer, layers
from anyformer.networks.network import Network
from anyformer.targets.domains import Domain

UPWARDS = 1 + 2.0**-30


@dataclass(frozen=True, eq=False)
class _Channels:
    size: Array
    off: Array

    def times(self, W: Array) -> "_Channels":
        return _Channels(np.abs(W) @ self.size, np.abs(W) @ self.off)

    def plus(self, other: "_Channels") -> "_Channels":
        return _Channels(self.size + other.size, self.off + other.off)


def folding_error(network: Network, domain: Domain) -> float:
    """Bound |folded − network| in real arithmetic, for every output entry and every input of the domain."""
    share = Fraction(float(network.dtype.rounded(np.array(1 / network.tokens))))
    # All shares of a token together; 0 where 1/n is a number of the type.
    surplus = float(abs(share * network.tokens - 1))
    if surplus == 0:
        return 0.0
    state = _embedded(network, domain)
    for layer in layers(network.stages):
        state = _fed(layer, state) if isinstance(layer, FeedForwardLayer) else _attended(layer, state, surplus)
    if network.W_R is not None:
        state = state.times(network.W_R)
    return float(state.off.max()) * UPWARDS


def _embedded(network: Network, domain: Domain) -> _Channels:
    ends = np.abs([domain.lows(network.width), domain.highs(network.width)])
    state = _Channels(ends.max(axis=0), np.zeros(network.width))
    if network.W_E is not None:
        state = state.times(network.W_E)
    if network.positional_encoding is None:
        return state
    return _Channels(state.size + np.abs(network.positional_encoding).max(axis=0), state.off)


def _fed(layer: FeedForwardLayer, state: _Channels) -> _Channels:
    """ReLU moves its argument by no more than the argument is off."""
    before = state.times(layer.W_1)
    moved = _Channels(before.size + np.abs(layer.b_1), before.off).times(layer.W_2)
    return state.plus(_Channels(moved.size + np.abs(layer.b_2), moved.off))


def _attended(layer: AttentionLayer, state: _Channels, surplus: float) -> _Channels:
    read = state
    for W_Q, b_Q, W_K, W_V, W_O in zip(layer.W_Q, layer.b_Q, layer.W_K, layer.W_V, layer.W_O, strict=True):
        values = read.times(W_V)
        if is_uniform(W_Q, b_Q):
            off = values.off * (1 + surplus) + values.size * surplus
        else:
            # Scores that are off by s move a mean of values within ±V by at most tanh(s/2) · 2V ≤ s · V.
            off = values.off + _scores_off(read, W_Q, b_Q, W_K) * values.size
        state = state.plus(_Channels(values.size * (1 + surplus), off).times(W_O))
    return state


def _scores_off(state: _Channels, W_Q: Array, b_Q: Array, W_K: Array) -> float:
    queries, keys = state.times(W_Q), state.times(W_K)
    size = queries.size + np.abs(b_Q)
    return float(size @ keys.off + queries.off @ keys.size + queries.off @ keys.off)
