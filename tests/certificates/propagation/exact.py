"""Real arithmetic for the tests: layers evaluated with fractions, and with 400 decimal digits where exp comes in."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from anyformer.networks import AttentionLayer, FeedForwardLayer


def exact_feed_forward(layer: FeedForwardLayer, token: list[Fraction]) -> list[Fraction]:
    hidden = [
        max(sum((Fraction(w) * t for w, t in zip(row, token, strict=True)), Fraction(b)), Fraction(0))
        for row, b in zip(layer.W_1.tolist(), layer.b_1.tolist(), strict=True)
    ]
    return [
        t + sum((Fraction(w) * h for w, h in zip(row, hidden, strict=True)), Fraction(b))
        for t, row, b in zip(token, layer.W_2.tolist(), layer.b_2.tolist(), strict=True)
    ]


def precise_attention(layer: AttentionLayer, sequence: np.ndarray) -> np.ndarray:
    """The layer on one (tokens, width) sequence, as an object array of Decimals finer than any slack."""
    with localcontext() as context:
        context.prec = 400  # finer than the smallest float beside 1
        context.Emin, context.Emax = -(10**9), 10**9
        x = np.vectorize(lambda v: Decimal(float(v)), otypes=[object])(sequence)
        total = x.copy()
        for h in range(len(layer.W_O)):
            W_Q, b_Q, W_K, W_V, W_O = (
                np.vectorize(lambda v: Decimal(float(v)), otypes=[object])(w[h])
                for w in (layer.W_Q, layer.b_Q, layer.W_K, layer.W_V, layer.W_O)
            )
            queries, keys, values = x.dot(W_Q.T) + b_Q, x.dot(W_K.T), x.dot(W_V.T)
            for j, query in enumerate(queries):
                scores = keys.dot(query)
                powers = [(score - max(scores)).exp() for score in scores]
                mean = sum(p * v for p, v in zip(powers, values, strict=True)) / sum(powers)
                total[j] = total[j] + W_O.dot(mean)
        return total
