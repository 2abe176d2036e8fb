"""Networks in real arithmetic: rational numbers while they last, balls of 2400 bits after the first exponential.

Nothing here comes from the checker. Every result is exact or a ball that surely holds the truth.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx, fmpq

from anyformer.networks import AttentionLayer, FeedForwardLayer, Network
from anyformer.networks.probability_maps import Entmax, Softmax, Sparsemax

# Enough for sums of products of any two floats, and for 300 bits more.
BITS = 2400
# A threshold is looked for with fewer: it lies between −1 and 0, and powers take long.
BITS_OF_THRESHOLD = 500
BISECTIONS = 240

Number: TypeAlias = Any  # fmpq or arb
Tokens: TypeAlias = list[list[Number]]


def exact(x: float) -> fmpq:
    """A float as the rational number it is."""
    return fmpq(*float(x).as_integer_ratio())


def real_outputs(network: Network, x: np.ndarray) -> Tokens:
    """What the network makes of one sequence (tokens, width)."""
    ctx.prec = BITS
    state = [[exact(value) for value in token] for token in x.tolist()]
    if network.positional_encoding is not None:
        rows = network.positional_encoding.tolist()
        state = [
            [a + exact(e) for a, e in zip(token, row, strict=True)] for token, row in zip(state, rows, strict=True)
        ]
    for k, stage in enumerate(network.stages):
        views = network.views(k)
        for t in range(len(stage)):
            layer = stage[t]
            if isinstance(layer, FeedForwardLayer):
                state = [_feed_forward(layer, token) for token in state]
            else:
                state = _attention(layer, state, views[t])
    return state


def _feed_forward(layer: FeedForwardLayer, token: list[Number]) -> list[Number]:
    hidden = [relu(_dot(row, token) + exact(b)) for row, b in zip(layer.W_1.tolist(), layer.b_1.tolist(), strict=True)]
    rows = zip(token, layer.W_2.tolist(), layer.b_2.tolist(), strict=True)
    return [t + _dot(row, hidden) + exact(b) for t, row, b in rows]


def relu(t: Number) -> Number:
    """max(t, 0)."""
    return max(t, fmpq(0)) if isinstance(t, fmpq) else t.nonnegative_part()


def _dot(weights: Sequence[float], x: Sequence[Number]) -> Number:
    return sum((exact(w) * v for w, v in zip(weights, x, strict=True) if w), fmpq(0))


def _attention(layer: AttentionLayer, x: Tokens, view: Any) -> Tokens:
    result = [list(token) for token in x]
    for h in range(len(layer.W_O)):
        queries = [
            [_dot(row, token) + exact(b) for row, b in zip(layer.W_Q[h].tolist(), layer.b_Q[h].tolist(), strict=True)]
            for token in x
        ]
        keys, values = ([[_dot(row, token) for row in W[h].tolist()] for token in x] for W in (layer.W_K, layer.W_V))
        for asker, query in enumerate(queries):
            seen = range(len(x)) if view is None else view[h % len(view)].keys_of(asker).tolist()
            scores = [sum((q * k for q, k in zip(query, keys[key], strict=True)), fmpq(0)) for key in seen]
            weights = weigh(layer.probability_map, scores)
            mean = [
                sum((w * values[key][unit] for w, key in zip(weights, seen, strict=True)), fmpq(0))
                for unit in range(len(values[0]))
            ]
            result[asker] = [r + _dot(row, mean) for r, row in zip(result[asker], layer.W_O[h].tolist(), strict=True)]
    return result


def weigh(probability_map: object, scores: list[Number]) -> list[Number]:
    """The weights of the keys by the map's definition."""
    if isinstance(probability_map, Softmax):
        return _softmax(scores)
    if isinstance(probability_map, Sparsemax) and all(isinstance(score, fmpq) for score in scores):
        return _sparsemax(scores)
    alpha = (
        2.0
        if isinstance(probability_map, Sparsemax)
        else probability_map.alpha
        if isinstance(probability_map, Entmax)
        else None
    )
    if alpha is None:
        raise TypeError(f"no real arithmetic for {probability_map!r}")
    with ctx.workprec(BITS_OF_THRESHOLD):
        return _entmax([exact(alpha - 1) * score for score in scores], 1 / arb(exact(alpha - 1)))


def _softmax(scores: list[Number]) -> list[Number]:
    if all(isinstance(score, fmpq) for score in scores) and len(set(scores)) == 1:
        return [fmpq(1, len(scores))] * len(scores)
    top = _top(scores)
    powers = [arb(score - top).exp() for score in scores]
    total = sum(powers, arb(0))
    return [power / total for power in powers]


def _top(scores: list[Number]) -> Number:
    return max(scores, key=lambda score: score if isinstance(score, fmpq) else score.mid())


def _sparsemax(scores: list[fmpq]) -> list[fmpq]:
    total, tau = fmpq(0), fmpq(0)
    for count, score in enumerate(sorted(scores, reverse=True), start=1):
        total += score
        if 1 + count * score > total:
            tau = (total - 1) / count
    return [max(score - tau, fmpq(0)) for score in scores]


def _entmax(scores: list[Number], power: arb) -> list[Number]:
    """Bisect for the threshold; the weights are balls, as wide as what is left of the bracket."""
    top = _top(scores)
    scores = [arb(score - top) for score in scores]
    low, high = fmpq(-1), fmpq(0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        total = sum((_power(score - arb(middle), power) for score in scores), arb(0))
        if total > 1:
            low = middle
        elif total < 1:
            high = middle
        else:
            break
    tau = arb(low).union(arb(high))
    return [_power(score - tau, power) for score in scores]


def _power(t: arb, power: arb) -> arb:
    """max(t, 0)^power, which rises with t: from the ends of the ball."""
    ends = [end**power if end > 0 else arb(0) for end in (t.lower(), t.upper())]
    return ends[0].union(ends[1])
