"""Float32 programs for a network that add their sums in other orders than the definition: a proof holds for all."""

import numpy as np

from anyformer.networks import Network
from anyformer.networks.layers import AttentionLayer, layers

Single = np.ndarray


def run_in_any_order(network: Network, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The network in float32, every sum in an order of its own."""
    state = np.asarray(x, dtype=np.float32)
    if network.W_E is not None:
        state = _times(network.W_E, state, None, rng)
    if network.positional_encoding is not None:
        state = state + network.positional_encoding.astype(np.float32)
    views = [view for k in range(len(network.stages)) for view in network.views(k)]
    for layer, view in zip(layers(network.stages), views, strict=True):
        if isinstance(layer, AttentionLayer):
            state = _attended(layer, view, state, rng)
        else:
            hidden = np.maximum(_times(layer.W_1, state, layer.b_1, rng), np.float32(0))
            state = state + _times(layer.W_2, hidden, layer.b_2, rng)
    if network.W_R is not None:
        state = _times(network.W_R, state, network.b_R, rng)
    assert state.dtype == np.float32
    return state.astype(np.float64)


def _times(W: np.ndarray, x: Single, b: np.ndarray | None, rng: np.random.Generator) -> Single:
    return _sum([x[..., k, None] * W[:, k].astype(np.float32) for k in range(x.shape[-1])], b, rng)


def _sum(terms: list[Single], b: np.ndarray | None, rng: np.random.Generator) -> Single:
    """From left to right in a random order, or by pairs."""
    terms = terms if b is None else [*terms, np.broadcast_to(b.astype(np.float32), terms[0].shape)]
    terms = [terms[k] for k in rng.permutation(len(terms))]
    if rng.random() < 0.5:
        while len(terms) > 1:
            pairs = [a + c for a, c in zip(terms[::2], terms[1::2], strict=False)]
            terms = pairs + ([terms[-1]] if len(terms) % 2 else [])
        return terms[0]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _attended(layer: AttentionLayer, view, x: Single, rng: np.random.Generator) -> Single:
    heads = []
    for h in rng.permutation(len(layer.W_O)):
        queries = _times(layer.W_Q[h], x, layer.b_Q[h], rng)
        keys, values = _times(layer.W_K[h], x, None, rng), _times(layer.W_V[h], x, None, rng)
        scores = _sum([queries[..., :, None, m] * keys[..., None, :, m] for m in range(keys.shape[-1])], None, rng)
        if view is not None:
            seen = np.zeros(scores.shape[-2:], dtype=bool)
            for query in range(len(seen)):
                seen[query, view[h % len(view)].keys_of(query)] = True
            scores = np.where(seen, scores, np.float32(-np.inf))
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        total = _sum([powers[..., j] for j in range(powers.shape[-1])], None, rng)[..., None]
        weights = powers / total if rng.random() < 0.5 else powers * (np.float32(1) / total)
        mixed = _sum([weights[..., j, None] * values[..., None, j, :] for j in range(weights.shape[-1])], None, rng)
        heads.append(_times(layer.W_O[h], mixed, None, rng))
    return x + _sum(heads, None, rng)
