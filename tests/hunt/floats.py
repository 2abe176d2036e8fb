"""The float64 program once more, number by number in plain Python, with its sums in an order of the hunter's choice.

Certificates speak of the sums of layers in any order, fused or not, but for weighted values in attention, which are
rounded before they are added. A product with a weight of 0 is left out, as by whoever skips what does nothing.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from anyformer.networks import AttentionLayer, FeedForwardLayer, Network
from anyformer.networks.probability_maps import Softmax

Tokens = list[list[float]]


def float_outputs(network: Network, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What the network makes of one sequence (tokens, width), each sum in a random order."""
    program = _Program(rng)
    state = x.tolist()
    if network.positional_encoding is not None:
        rows = network.positional_encoding.tolist()
        state = [[a + e for a, e in zip(token, row, strict=True)] for token, row in zip(state, rows, strict=True)]
    for k, stage in enumerate(network.stages):
        views = network.views(k)
        for t in range(len(stage)):
            layer = stage[t]
            if isinstance(layer, FeedForwardLayer):
                state = [program.feed_forward(layer, token) for token in state]
            else:
                state = program.attention(layer, state, views[t])
    return np.array(state)


class _Program:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.is_fused = bool(rng.random() < 0.5)

    def feed_forward(self, layer: FeedForwardLayer, token: list[float]) -> list[float]:
        heard = layer.W_2.any(axis=0).tolist()
        hidden = [
            max(self.total(row, token, [b]), 0.0) if listen else 0.0
            for row, b, listen in zip(layer.W_1.tolist(), layer.b_1.tolist(), heard, strict=True)
        ]
        rows = zip(token, layer.W_2.tolist(), layer.b_2.tolist(), strict=True)
        return [self.total(row, hidden, [t, b]) for t, row, b in rows]

    def attention(self, layer: AttentionLayer, x: Tokens, view: Any) -> Tokens:
        means: list[list[list[float]]] = [[] for _ in x]
        for h in range(len(layer.W_O)):
            W_Q, b_Q = layer.W_Q[h].tolist(), layer.b_Q[h].tolist()
            queries = [[self.total(row, token, [b]) for row, b in zip(W_Q, b_Q, strict=True)] for token in x]
            keys, values = ([[self.total(row, t) for row in W[h].tolist()] for t in x] for W in (layer.W_K, layer.W_V))
            for asker, query in enumerate(queries):
                seen = range(len(x)) if view is None else view[h % len(view)].keys_of(asker).tolist()
                weights = self.weights(layer, [self.total(query, keys[key]) for key in seen])
                units = range(len(values[0]))
                means[asker].append(
                    [self.summed(w * values[key][unit] for w, key in zip(weights, seen, strict=True)) for unit in units]
                )
        columns = np.concatenate(layer.W_O, axis=1).tolist()
        return [
            [self.total(row, list(chain(*mean)), [t]) for t, row in zip(token, columns, strict=True)]
            for token, mean in zip(x, means, strict=True)
        ]

    def weights(self, layer: AttentionLayer, scores: list[float]) -> list[float]:
        if not isinstance(layer.probability_map, Softmax):
            with np.errstate(all="ignore"):
                return layer.probability_map(np.array(scores)).tolist()
        top = math.nan if any(map(math.isnan, scores)) else max(scores)
        powers = [math.exp(score - top) for score in scores]
        total = self.summed(powers)
        return [power / total for power in powers]

    def total(self, weights: Sequence[float], x: Sequence[float], more: Sequence[float] = ()) -> float:
        """Σ weights·x and what else is to be added."""
        pairs = [(w, v) for w, v in zip(weights, x, strict=True) if w != 0]
        if not self.is_fused:
            return self.summed([w * v for w, v in pairs] + list(more))
        result = self.summed(more) if more else 0.0
        for at in self.rng.permutation(len(pairs)):
            result = fused(*pairs[at], result)
        return result

    def summed(self, terms: Iterable[float]) -> float:
        terms = list(terms)
        result = 0.0
        for at in self.rng.permutation(len(terms)):
            result += terms[at]
        return result


def fused(a: float, b: float, c: float) -> float:
    """a·b + c, rounded once."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    whole = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(whole)
    except OverflowError:
        return math.inf if whole > 0 else -math.inf
