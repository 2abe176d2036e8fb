"""Enclosing the output of an attention layer.

A head of size 1 whose values are its keys returns a *tilted mean* T(q; k) = Σ k_i e^{q k_i} / Σ e^{q k_i}. For q > 0:

    max k − Σ_i g_i e^{−q g_i}  <=  T(q; k)  <=  max k,        g_i = max k − k_i >= 0,

because T = max k − Σ w_i g_i, and the weight w_i is at most e^{−q g_i}, its odds against the winner. For q < 0 mirror
it. One rule serves points (where the sum underflows, softmax *is* hardmax) and wide boxes (g e^{−q g} <= 1/(e·q)). For
sparsemax and entmax w_i = 0 from a fixed lag q·g_i on, which leaves nothing to bound. Other heads are enclosed by the
hull of their values, of which they return a mean. With a sparsity pattern all of it is done for the keys in view.
"""

import math

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.propagation.enclosures import (
    SMALLEST,
    ULP,
    Arithmetic,
    Enclosure,
    affine,
    stack,
    sum_of_products,
    up,
    up_times,
)
from anyformer.networks.layers import AttentionLayer
from anyformer.networks.network import View
from anyformer.networks.probability_maps import ProbabilityMap, Softmax
from anyformer.patterns.neighbours import Neighbours


def enclose_attention(layer: AttentionLayer, x: Enclosure, arithmetic: Arithmetic, view: View = None) -> Enclosure:
    """Enclose the layer's output; x has shape (batch, tokens, width)."""
    heads = [h for h in range(len(layer.W_O)) if layer.W_O[h].any()]
    if not heads:
        return x
    outputs = [
        output
        for h in heads
        for output in _head(layer, h, x, arithmetic, None if view is None else view[h % len(view)])
    ]
    columns = np.concatenate([layer.W_O[h] for h in heads], axis=1)
    result = stack(
        [
            affine(np.concatenate([[1.0], row]), stack([x[..., coordinate], *outputs]), arithmetic=arithmetic)
            for coordinate, row in enumerate(columns)
        ]
    )
    return _with_pair_bound(layer, x, result, arithmetic) if _is_pair(layer, view) else result


def _head(
    layer: AttentionLayer, h: int, x: Enclosure, arithmetic: Arithmetic, seen: Neighbours | None
) -> list[Enclosure]:
    """What head h returns before W_O: one enclosure (batch, tokens) per unit of head size."""
    if seen is None:
        return _head_among(layer, h, x, x, arithmetic)
    outputs = [Enclosure(*(np.empty(x.low.shape[:2]) for _ in range(3))) for _ in layer.W_V[h]]
    for keys, queries in _by_view(seen).items():
        some = _head_among(layer, h, x[:, list(queries)], x[:, list(keys)], arithmetic)
        for whole, part in zip(outputs, some, strict=True):
            whole.low[:, queries], whole.high[:, queries], whole.slack[:, queries] = part.low, part.high, part.slack
    return outputs


def _by_view(seen: Neighbours) -> dict[tuple[int, ...], list[int]]:
    """Queries grouped by the keys that they see."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for query in range(seen.tokens):
        groups.setdefault(tuple(seen.keys_of(query).tolist()), []).append(query)
    return groups


def _head_among(
    layer: AttentionLayer, h: int, queries: Enclosure, keys: Enclosure, arithmetic: Arithmetic
) -> list[Enclosure]:
    """What head h returns to queries that all see the same keys: (batch, queries) per unit of head size."""
    values = affine(layer.W_V[h], keys[..., None, :], arithmetic=arithmetic)
    units, askers = range(len(layer.W_V[h])), queries.low.shape[1]
    if not layer.W_K[h].any() or not (layer.W_Q[h].any() or layer.b_Q[h].any()):
        return [_mean(values[..., unit], arithmetic, askers) for unit in units]
    if len(layer.W_V[h]) == 1 and np.array_equal(layer.W_V[h], layer.W_K[h]):
        query = affine(layer.W_Q[h], queries[..., None, :], layer.b_Q[h], arithmetic)
        return [_tilted_mean(query[..., 0], values[..., 0], arithmetic, layer.probability_map)]
    return [_hull(values[..., unit], arithmetic, askers) for unit in units]


def _hull(values: Enclosure, arithmetic: Arithmetic, askers: int) -> Enclosure:
    """Between the smallest and the largest value of all keys, for every query."""
    margin = _rounding_of_means(values, arithmetic)
    low = values.low.min(axis=1, keepdims=True) - margin
    high = values.high.max(axis=1, keepdims=True) + margin
    shape = (len(low), askers)
    return Enclosure(
        np.broadcast_to(low, shape),
        np.broadcast_to(high, shape),
        np.broadcast_to(values.slack.max(1, keepdims=True), shape),
    )


def _mean(values: Enclosure, arithmetic: Arithmetic, askers: int) -> Enclosure:
    """The plain mean over keys: all scores are exactly 0, so all weights are the type's own 1/n, whatever the map.

    Where n·fl(v/n) = v for every v, each weighted value is v/n to the bit, and only their sum can round.
    """
    tokens = values.low.shape[1]
    rounded = arithmetic.dtype.rounded
    weight = float(rounded(np.array(1.0 / tokens)))
    parts = rounded(weight * values.low)
    back, error = sum_of_products(np.array([float(tokens)]), parts[..., None], arithmetic)
    whole = (back == values.low) & (error == 0) & (values.low == values.high)
    exact = whole.all(axis=1, keepdims=True)
    mean = affine(np.full(tokens, weight), values, arithmetic=arithmetic)
    # 1/n is off by half an ulp, and each product may underflow.
    size = np.maximum(np.abs(values.low), np.abs(values.high)).max(axis=1)
    wide = up(
        _rounding_of_means(values, arithmetic)[:, 0]
        + np.where(size == 0, 0.0, 4 * arithmetic.ulp * size + arithmetic.smallest)
    )
    summed, rounding = sum_of_products(np.ones(tokens), parts, arithmetic)
    exact_sum = exact[:, 0] & (rounding == 0)
    low = np.where(exact_sum, summed, mean.low - wide)
    high = np.where(exact_sum, summed, mean.high + wide)
    ends = (np.broadcast_to(end[:, None], (len(low), askers)) for end in (low, high, mean.slack))
    return Enclosure(*ends)


def _rounding_of_means(values: Enclosure, arithmetic: Arithmetic) -> Array:
    """How far rounding may push a mean out of the hull: exp, normalisation and sum cost a few ulps each."""
    size = np.maximum(np.abs(values.low), np.abs(values.high)).max(axis=1, keepdims=True)
    operations = 2 * values.low.shape[1] + 16
    if not arithmetic.covers_program:
        return np.zeros_like(size)
    return np.where(size == 0, 0.0, up(operations * (arithmetic.ulp * size + arithmetic.smallest)))


def _tilted_mean(
    query: Enclosure, keys: Enclosure, arithmetic: Arithmetic, probability_map: ProbabilityMap
) -> Enclosure:
    """Enclose T(q_j; k) for every query token j."""
    result = _hull(keys, arithmetic, query.low.shape[1])
    ends = [result.low.copy(), result.high.copy(), result.slack.copy()]
    for sign in (1.0, -1.0):
        tilt, towards = (query, keys) if sign > 0 else (_mirrored(query), _mirrored(keys))
        decided = tilt.low - tilt.slack > 0
        if decided.any():
            near = _near_maximum(tilt, towards, arithmetic, probability_map)
            near = near if sign > 0 else _mirrored(near)
            for end, better in zip(ends, (near.low, near.high, near.slack), strict=True):
                end[decided] = better[decided]
    return Enclosure(*ends)


def _mirrored(x: Enclosure) -> Enclosure:
    return Enclosure(-x.high, -x.low, x.slack)


def _near_maximum(
    tilt: Enclosure, keys: Enclosure, arithmetic: Arithmetic, probability_map: ProbabilityMap
) -> Enclosure:
    """T(q; k) for q > 0, by the bound above; entries with q <= 0 are not used by the caller."""
    slack = keys.slack.max(axis=1, keepdims=True)
    top_low, top_high = keys.low.max(axis=1, keepdims=True), keys.high.max(axis=1, keepdims=True)
    # The same for every query: gaps of the keys below the winner, for the program and (with the slack) for the reals.
    gap_low = np.maximum(top_low - keys.high, 0.0)
    gap_high = up(top_high - keys.low)
    sharpness = np.maximum(tilt.low - tilt.slack, SMALLEST)[..., None]
    real_gaps = np.maximum(gap_low - 2 * slack, 0.0)[:, None, :], up(gap_high + 2 * slack)[:, None, :]
    if isinstance(probability_map, Softmax):
        losses = _largest_loss(sharpness, *real_gaps)
    else:
        # A key that lags far enough behind has no weight; the others together have at most all of it.
        with np.errstate(over="ignore"):
            out = sharpness * real_gaps[0] * (1 - 8 * ULP) >= _lag(probability_map, arithmetic)
        losses = np.where(out, 0.0, real_gaps[1])
    loss = up(losses.sum(axis=-1))
    shape = tilt.low.shape
    low, high = np.broadcast_to(top_low, shape), np.broadcast_to(top_high, shape)
    spread = up(slack + loss)
    if not arithmetic.covers_program:
        return Enclosure(low, high, spread)
    saturated = _is_saturated(tilt, keys, gap_low, gap_high, _lag(probability_map, arithmetic), arithmetic)
    if isinstance(probability_map, Softmax):
        drift = _drift(tilt, keys, gap_high, arithmetic) + _rounding_of_means(keys, arithmetic)
        loose_low, loose_high = low - up(loss + drift), high + drift
    else:
        hull = _hull(keys, arithmetic, shape[1])
        loose_low, loose_high = hull.low, hull.high
    return Enclosure(np.where(saturated, low, loose_low), np.where(saturated, high, loose_high), spread)


def _lag(probability_map: ProbabilityMap, arithmetic: Arithmetic) -> float:
    """The lag in the scores from which on a loser's weight is 0: by definition, or because exp underflows.

    Slightly more than the threshold, so that rounding of the lag cannot decide.
    """
    if isinstance(probability_map, Softmax):
        return math.ceil(arithmetic.dtype.exp_underflow)
    return float(probability_map.saturating_scale(1.0)) * (1 + 2.0**-20)


def _largest_loss(q: Array, gap_low: Array, gap_high: Array) -> Array:
    """sup of g·e^{−q g} over gap_low <= g <= gap_high: the function rises until 1/q and falls afterwards."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        peak = 1 / q
        at = np.where(gap_high <= peak, gap_high, np.maximum(gap_low, np.minimum(peak, gap_high)))
        # The exponential is a few ulps off at most and may underflow: round up by far more than that.
        power = np.exp(-q * at * (1 - 8 * ULP)) * (1 + 2.0**-40) + SMALLEST
    return up_times(at, power)


def _is_saturated(
    tilt: Enclosure, keys: Enclosure, gap_low: Array, gap_high: Array, lag: float, arithmetic: Arithmetic
) -> Array:
    """Whether the program gives the losers weight exactly 0 and equal winners exactly equal weights, a power of two.

    Shares of a key are then exact, unless the key is so small that they underflow.
    """
    size = np.maximum(np.abs(keys.low), np.abs(keys.high)).max(axis=1)[:, None, None]
    with np.errstate(over="ignore", invalid="ignore"):
        score_gap = tilt.low[..., None] * gap_low[:, None, :] - 8 * arithmetic.ulp * tilt.high[..., None] * size
    wins = gap_high == 0
    ties = wins.sum(axis=1)
    settled = (wins[:, None, :] | (score_gap >= lag)).all(axis=-1)
    top = np.abs(keys.high.max(axis=1))
    shared = (ties == 1) | (np.isin(ties, 2 ** np.arange(32)) & ((top == 0) | (top >= arithmetic.normal)))
    return np.asarray(settled & shared[:, None])


def _drift(tilt: Enclosure, keys: Enclosure, gap_high: Array, arithmetic: Arithmetic) -> Array:
    """How much rounding errors in the scores can move the mean: a score error e changes the odds by a factor e^{2e}."""
    size = np.maximum(np.abs(keys.low), np.abs(keys.high)).max(axis=1, keepdims=True)
    steepest = np.maximum(np.abs(tilt.low), np.abs(tilt.high))
    with np.errstate(over="ignore", invalid="ignore"):
        drift = up_times(
            gap_high.max(axis=1, keepdims=True), np.expm1(8 * arithmetic.ulp * steepest * size) + arithmetic.normal
        )
    return np.where(np.isnan(drift), np.inf, drift)


def _is_pair(layer: AttentionLayer, view: View) -> bool:
    """Whether two softmax heads of size 1 differ in b_Q only and have opposite outputs: a selective shift.

    The bound for pairs takes the range of all keys, which holds for the keys in view too; both must have the same.
    """
    if not isinstance(layer.probability_map, Softmax) or (view is not None and len(view) > 1):
        return False
    W_Q, W_K, W_V, W_O = layer.W_Q, layer.W_K, layer.W_V, layer.W_O
    alike = len(W_Q) == 2 and W_Q.shape[1] == 1 and all(np.array_equal(w[0], w[1]) for w in (W_Q, W_K, W_V))
    return alike and np.array_equal(W_V, W_K) and np.array_equal(W_O[0], -W_O[1])


def _with_pair_bound(layer: AttentionLayer, x: Enclosure, result: Enclosure, arithmetic: Arithmetic) -> Enclosure:
    """Use that the two heads of a pair are correlated, where the plain enclosure is not a point.

    The pair adds W_O·(T(q; k) − T(q'; k)) with q − q' = b_Q − b_Q'. The derivative of T in q is the variance of k
    under the weights: it is not negative, so the sign of the sum is known, and at most (range of k)²/4, so nearly
    equal keys are hardly moved.
    """
    keys = affine(layer.W_K[0], x[..., None, :], arithmetic=arithmetic)[..., 0]
    query = affine(layer.W_Q[0], x[..., None, :], layer.b_Q[0], arithmetic)[..., 0]
    k = keys.folded()
    spread = up(k.high.max(axis=1, keepdims=True) - k.low.min(axis=1, keepdims=True))
    tilt = float(layer.b_Q[0, 0] - layer.b_Q[1, 0])
    most = np.broadcast_to(up_times(up(np.array(abs(tilt))), up_times(spread, spread)) / 4 + SMALLEST, x.low.shape[:2])
    least = np.zeros_like(most)
    if arithmetic.covers_program:
        # Both heads round; so do their scores; so does adding them to x.
        doubt = 2 * up(
            _drift(query, keys, np.broadcast_to(spread, keys.low.shape), arithmetic)
            + 2 * _rounding_of_means(keys, arithmetic)
        )
        least, most = least - doubt, most + doubt
    before, after = x.folded(), result.folded()
    gain = np.sign(tilt) * layer.W_O[0, :, 0]
    bound = stack(
        [
            affine(np.array([1.0, g]), stack([before[..., i], Enclosure.box(least, most)]), arithmetic=arithmetic)
            for i, g in enumerate(gain)
        ]
    ).folded()
    point = result.low == result.high
    return Enclosure(
        np.where(point, result.low, np.maximum(after.low, bound.low)),
        np.where(point, result.high, np.minimum(after.high, bound.high)),
        np.where(point, result.slack, 0.0),
    )
