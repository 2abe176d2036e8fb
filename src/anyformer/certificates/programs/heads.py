"""What a head computes, from its weights: a mean, a fixed mixing, a maximum over tokens, softmax attention.

A rule returns a bound of the head's own error: how far its output is from the step applied to what the head really
reads. Weights of a head add up to 1, so constants of the value pass unchanged.
"""

import math
from collections.abc import Callable

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.errors import UP
from anyformer.certificates.programs.layers import Head
from anyformer.certificates.programs.stream import UNIT, Reading, Stream, must
from anyformer.programs.forms import Node
from anyformer.programs.numbers import ZERO, Number
from anyformer.programs.steps import Attend, Mean, Mix, Step, TokenMaximum

# Roundings of a weighted mean besides two for every token: exp is within 8 ulps, 16 roundings, above and below the
# line; then the division, the product with the value and W_O. These are 35, or 36 if a product with the reciprocal
# replaces the division; the rest is for the rounding of these bounds.
ROUNDINGS = 40


def head_error(stream: Stream, head: Head, node: Node, channel: int) -> tuple[Reading, float, float]:
    """The reading that the node becomes, the head's own error and a bound of what the channel holds."""
    rows = np.flatnonzero(head.W_O[channel])
    must(len(rows) == 1 and head.W_O[channel, rows[0]] == 1, "a head writes a value as it is")
    row, wanted = head.W_V[rows[0]], stream.of(node.args[-1])
    value = stream.read(row)
    # Weights add up to 1, so that a constant of the value may be added afterwards; one of the place may not.
    outside = wanted.constant if wanted.constant.is_steady else ZERO
    apart = stream.apart(value, wanted + Reading(Number(np.zeros(stream.width)), -outside))
    most = stream.size(value)
    rule = RULES.get(type(node.step))
    must(rule is not None, f"{node} is done by a head")
    assert rule is not None
    own = rule(stream, head, node, value, most)
    lost = _plain_mean_rounding(stream) if isinstance(node.step, Mean) else _mean_rounding(stream)
    own += apart + 2 * stream.rounding(row, 0.0) + lost * most
    # A weight that underflows, or its product with a value, may be 0 or not.
    own += stream.tokens * 2 * stream.underflow * (1 + most)
    return Reading(stream.channel(channel).row, outside), own, most


def _mean_rounding(stream: Stream) -> float:
    """How much of its values a weighted mean may lose to rounding."""
    return stream.roundings(2 * stream.tokens + ROUNDINGS)


def _plain_mean_rounding(stream: Stream) -> float:
    """The same where all scores are 0: exp is 1 there and their sum is exact, so that only the division is rounded,
    perhaps twice, and then the products with the values, their sum and W_O."""
    return stream.roundings(stream.tokens + 8)


def _mean(stream: Stream, head: Head, node: Node, value: Reading, most: float) -> float:
    must(head.sees is None or bool(head.sees.all()), "a mean sees all tokens")
    must(not head.W_Q.any() and not head.b_Q.any(), "a mean has no query")
    return 0.0


def _token_maximum(stream: Stream, head: Head, node: Node, value: Reading, most: float) -> float:
    """With scores β·v_k + δ_k, |δ_k| ≤ d, and gaps g = max v − v: max v − Σ p·v is at most Σ g_k·e^{−β·g_k + 2d}, so at
    most (n − 1)·e^{2d}/(e·β)."""
    must(head.sees is None or bool(head.sees.all()), "a maximum sees all tokens")
    must(not head.W_Q.any() and np.count_nonzero(head.b_Q) == 1, "a maximum has one constant query")
    at = int(np.flatnonzero(head.b_Q)[0])
    sharpness = float(head.b_Q[at])
    must(sharpness > 0, "the query of a maximum is positive")
    keys = stream.read(head.W_K[at])
    drift = sharpness * stream.apart(keys, value, but_constant=True)
    drift += sharpness * 4 * (stream.rounding(head.W_K[at], 0.0) + stream.roundings(4) * stream.size(keys))
    must(drift < 1, "the scores of a maximum are exact enough")
    return (stream.tokens - 1) / (math.e * sharpness) * math.exp(2 * drift)


def _mixing(stream: Stream, head: Head, node: Node, value: Reading, most: float) -> float:
    """Scores that depend on positions alone make a fixed matrix: its largest distance from the wanted one, in a row."""
    assert isinstance(node.step, Mix)
    scores, doubt = _fixed_scores(stream, head, range(len(head.b_Q)))
    if head.sees is not None:
        scores = np.where(head.sees, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    shares = node.step.shares
    gap = np.abs(weights - shares.values) + shares.doubts
    # Scores off by d change the odds p/(1 − p) by a factor of at most e^2d, so p by p·(1 − p)·(e^2d − 1); then exp, sum
    # and division. A weight that underflows may be 0 or not.
    others = np.maximum(1 - weights, 0.0) + _mean_rounding(stream)
    of_odds = others * np.expm1(2 * doubt.max(axis=1, keepdims=True))
    unsure = weights * (np.minimum(of_odds, _of_scores(weights, doubt)) + _mean_rounding(stream))
    unsure += 2 * stream.underflow + 1e-300
    return float((gap + unsure).sum(axis=1).max()) * most


def _of_scores(weights: Array, doubt: Array) -> Array:
    """How much scores off by d_k change weights, relatively.

    p_k becomes at most p_k·e^{d_k}/Σ_j p_j·e^{−d_j} and at least p_k·e^{−d_k}/Σ_j p_j·e^{d_j}. With Σ_j p_j = 1 the
    sums are 1 − Σ_j p_j·(1 − e^{−d_j}) and 1 + Σ_j p_j·(e^{d_j} − 1): a key with hardly any weight may have a large
    doubt. All of this is off by less than 2⁻⁴⁰, relatively: sums of positive numbers and a few operations.
    """
    with np.errstate(all="ignore"):
        fall = (weights * -np.expm1(-doubt)).sum(axis=1, keepdims=True)
        rise = (weights * np.expm1(doubt)).sum(axis=1, keepdims=True)
        more = np.where(fall < 0.5, (np.expm1(doubt) + fall) / (1 - fall), np.inf)
        less = rise - np.expm1(-doubt)
    return np.asarray(np.nan_to_num(np.maximum(more, less), nan=np.inf) * (1 + 2.0**-40))


def _fixed_scores(stream: Stream, head: Head, parts: "range | list[int]", others: int = 0) -> tuple[Array, Array]:
    """Scores from positions, and how far off each can be; `others` products of another kind are in the same sums."""
    queries, keys = np.zeros((2, len(parts), stream.tokens)), np.zeros((2, len(parts), stream.tokens))
    for at, i in enumerate(parts):
        for found, row, bias in ((queries, head.W_Q[i], float(head.b_Q[i])), (keys, head.W_K[i], 0.0)):
            reading = stream.read(row, bias)
            must(not np.any(reading.row.value), "the scores of a mixing come from positions")
            # What is computed here is in doubt, and what the network computes is rounded.
            found[0, at] = reading.constant.value
            found[1, at] = reading.constant.doubt + stream.rounding_at_places(row, bias)
    (q, of_query), (k, of_key) = queries, keys
    must(bool(np.isfinite(queries).all() and np.isfinite(keys).all()), "scores are finite")
    scores = q.T @ k
    off = of_query.T @ np.abs(k) + np.abs(q).T @ of_key + 3 * of_query.T @ of_key
    # Twice a sum of products, here and there, and the difference to the largest score. A product that is 0 without
    # doubt is added exactly.
    counts = ((np.abs(q) + of_query) > 0).T.astype(np.float64) @ ((np.abs(k) + of_key) > 0).astype(np.float64)
    several = np.vectorize(stream.roundings, otypes=[np.float64])(4 * (counts + others + 4))
    roundings = several * (np.abs(q).T @ np.abs(k)) + (len(parts) + 1) * 4 * stream.underflow
    # Sums of so many products that are not negative are off by no more than this.
    doubt = (off + roundings) * (1 + (len(parts) + 4) * 2 * UNIT)
    must(bool(np.isfinite(scores).all() and np.isfinite(doubt).all()), "scores are finite")
    return scores, doubt * UP


def _attention(stream: Stream, head: Head, node: Node, value: Reading, most: float) -> float:
    """Scores off by at most s, up to what is the same for all keys, change weights by tanh(s/2) in total variation.

    A score q̂·k̂ of the head is off from the wanted q·k by q̂·(k̂ − k) + k·(q̂ − q), and |q̂|, |k| are at most what the head
    reads plus roundings and errors.
    """
    assert isinstance(node.step, Attend)
    count, roundings = node.step.size, stream.roundings(2 * len(head.b_Q) + 16)
    must(len(head.b_Q) >= count, "a head has as many scores as the program")
    off = reach = 0.0
    for i in range(count):
        query, key = stream.read(head.W_Q[i], float(head.b_Q[i])), stream.read(head.W_K[i])
        wanted_query, wanted_key = stream.of(node.args[i]), stream.of(node.args[count + i])
        q, k = stream.size(query), stream.size(key)
        of_query = stream.apart(query, wanted_query) + stream.rounding(head.W_Q[i], float(head.b_Q[i]))
        of_key = stream.apart(key, wanted_key, but_constant=True) + stream.rounding(head.W_K[i], 0.0)
        # The wanted key may have a constant that the head leaves out: it adds the same to all scores of a query.
        off += q * of_key + k * of_query + 3 * of_query * of_key + roundings * q * k + 4 * stream.underflow
        reach += q * k
    off, reach = off * stream.up, reach * stream.up
    leak, fixed = _offsets(stream, head, node.step, reach + off)
    return math.tanh((off + fixed) / 2) * 2 * most + leak * 2 * most


def _offsets(stream: Stream, head: Head, step: Attend, reach: float) -> tuple[float, float]:
    """The weight that reaches hidden keys, and the error of the other scores, from what positions add to scores."""
    count, tokens = step.size, stream.tokens
    wanted = np.zeros((tokens, tokens)) if step.offsets is None else step.offsets.values
    hidden = np.isneginf(wanted)
    must(bool((hidden | np.isfinite(wanted)).all()), "offsets are finite or hide a key")
    in_doubt = 0.0 if step.offsets is None else float(np.where(hidden, 0.0, step.offsets.doubts).max())
    rest = [i for i in range(count, len(head.b_Q)) if head.W_Q[i].any() or head.b_Q[i]]
    scores, doubt = _fixed_scores(stream, head, rest, others=count)
    sees = np.ones((tokens, tokens), dtype=np.bool_) if head.sees is None else head.sees
    must(bool((sees | hidden).all()), "a head sees every key that is not hidden")
    must(bool((~hidden).any(axis=1).all()), "every query has a key")
    gap = scores - np.where(hidden, 0.0, wanted)
    # The two differences are rounded by less than this.
    slip = 4 * UNIT * (np.abs(scores) + np.abs(np.where(hidden, 0.0, wanted))).max()
    spread = np.where(hidden, -np.inf, gap).max(axis=1) - np.where(hidden, np.inf, gap).min(axis=1)
    # What is doubtful of a hidden key counts for the leak alone.
    fixed = float((spread / 2 + np.where(hidden, 0.0, doubt).max(axis=1)).max()) + slip + in_doubt
    if not (hidden & sees).any():
        return 0.0, fixed
    open_least = np.where(hidden, np.inf, scores - doubt).min(axis=1)
    closed_most = np.where(hidden & sees, scores + doubt, -np.inf).max(axis=1)
    ahead = closed_most - open_least + 2 * reach + slip
    return tokens * float(np.exp(np.minimum(ahead, 0.0)).max()), fixed


Rule = Callable[[Stream, Head, Node, Reading, float], float]
RULES: dict[type[Step], Rule] = {Mean: _mean, TokenMaximum: _token_maximum, Mix: _mixing, Attend: _attention}
