"""Functions on (batch, tokens, width) as users write them, all to be traced. Width 4, any number of tokens."""

import numpy as np
from scipy.special import erf, expit, log_expit

_rng = np.random.default_rng(5)
W = {name: _rng.normal(size=(4, 4)) / 2 for name in ("q", "k", "v", "o", "gate")}
UP, DOWN = _rng.normal(size=(4, 6)) / 2, _rng.normal(size=(6, 4)) / 2
BIAS = _rng.normal(size=4) / 3


def swiglu(x):
    return (x @ W["gate"]) * expit(x @ W["gate"]) * (x @ W["v"] + BIAS)


def layer_norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-2) * (1 + BIAS) + 0.5


def rms_norm(x):
    return x * (np.mean(x**2, axis=-1, keepdims=True) + 0.05) ** -0.5


def standardise_tokens(x):
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 0.5)


def gelu(x):
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def gelu_by_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + np.exp(-x))


def softplus(x):
    return np.logaddexp(0, 3 * x) / 3 - log_expit(x)


def leaky_relu(x):
    return np.where(x > 0.5, x - 0.5, 0.1 * (x - 0.5))


def elu(x):
    z = x - 0.4
    return np.where(z > 0, z, np.expm1(z))


def relu_by_product(x):
    return (x - 0.3) * (x > 0.3)


def hard_tanh(x):
    return np.clip(3 * x - 1, -0.5, 0.5) + np.minimum(x, 0.7)


def softmax_over_tokens(x):
    e = np.exp(2 * x - (2 * x).max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_over_width(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def attention(x):
    q, k, v = x @ W["q"], x @ W["k"], x @ W["v"]
    s = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ v


def attention_divided_last(x):
    w = np.exp(np.einsum("bjw,bkw->bjk", x @ W["q"], x) * 0.5)
    return (w @ x) / w.sum(axis=-1, keepdims=True)


def causal_attention(x):
    tokens = x.shape[1]
    s = (x @ W["q"]) @ np.transpose(x @ W["k"], (0, 2, 1))
    s = np.where(np.tri(tokens, dtype=bool), s, -np.inf)
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ x


def alibi_attention(x):
    places = np.arange(x.shape[1])
    s = 2.0 * (x @ x.swapaxes(-1, -2)) - 0.3 * np.abs(places[:, None] - places)
    s = s + np.where(places[:, None] >= places, 0.0, -1e9)
    w = np.exp(s)
    return np.matmul(w / w.sum(axis=2, keepdims=True), x + BIAS)


def masked_after_exp(x):
    mask = np.tri(x.shape[1], k=1)
    w = mask * np.exp(x @ W["q"] @ x.swapaxes(1, 2))
    return (w / w.sum(-1, keepdims=True)) @ x


def multi_head_attention(x):
    batch, tokens, width = x.shape
    q, k, v = ((x @ W[name]).reshape(batch, tokens, 2, width // 2).transpose(0, 2, 1, 3) for name in "qkv")
    s = q @ k.swapaxes(-1, -2) / np.sqrt(width // 2)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    mixed = (e / e.sum(axis=-1, keepdims=True)) @ v
    return mixed.transpose(0, 2, 1, 3).reshape(batch, tokens, width) @ W["o"]


def multi_head_by_einsum(x):
    q, k, v = ((x @ W[name]).reshape(*x.shape[:2], 2, -1) for name in "qkv")
    s = np.einsum("bqhd,bkhd->bhqk", q, k)
    p = np.exp(s)
    p = p / p.sum(axis=-1, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", p, v).reshape(x.shape)


def transformer_block(x):
    h = x + multi_head_attention(layer_norm(x))
    return h + np.maximum(layer_norm(h) @ UP + 0.1, 0) @ DOWN


def rbf_smoothing(x):
    d2 = ((x[:, :, None] - x[:, None]) ** 2).sum(-1)
    w = np.exp(-2 * d2)
    return (w / w.sum(-1, keepdims=True)) @ x


def nadaraya_watson(x):
    d2 = np.square(x[:, :, None, :2] - x[:, None, :, :2]).sum(axis=-1)
    w = np.exp(-d2)
    return np.einsum("bjk,bkw->bjw", w, x) / w.sum(axis=2)[..., None]


def mean_shift(x):
    d = x[:, :, np.newaxis, :] - x[:, np.newaxis, :, :]
    w = np.exp(-np.einsum("bjkw,bjkw->bjk", d, d))
    return x - (w[..., None] * d).sum(axis=2) / w.sum(axis=2, keepdims=True)


def linear_attention(x):
    return (x @ W["q"]) @ (x.swapaxes(1, 2) @ (x @ W["v"])) / x.shape[1]


def mean_of_pair_differences(x):
    return (x[:, :, None] - 2 * x[:, None]).mean(axis=2)


def soft_sort_of_tokens(x):
    ranks = np.arange(x.shape[1]) / x.shape[1]
    s = -3.0 * (ranks[None, :, None] - x[:, None, :, 0]) ** 2
    p = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)
    return p @ x


def polynomial_features(x):
    a, b = x[..., 0], x[..., 1]
    return np.stack([a * b, a**3 - b, a**2 * b, (a + b) ** 2], axis=-1)


def positional_encoding(x):
    angles = np.arange(x.shape[1])[:, None] / 10.0 ** np.arange(4)
    return x + np.where(np.arange(4) % 2 == 0, np.sin(angles), np.cos(angles)) * (1 + 0.1 * x)


def rotary(x):
    angles = np.arange(x.shape[1])[:, None] * np.array([1.0, 0.1])
    a, b = x[..., :2], x[..., 2:]
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], axis=-1)


def token_shift(x):
    before = np.concatenate([np.zeros((x.shape[0], 1, 4)), x[:, :-1]], axis=1)
    return 0.5 * (x + before) + np.roll(x, 1, axis=1)


def filled_by_slices(x):
    y = np.zeros_like(x)
    y[:, 1:] = x[:, :-1]
    y[:, 0] = x.mean(axis=1)
    y[..., 2] += 1.0
    y[..., 3] = np.tanh(y[..., 0])
    return y


def change_from_before(x):
    return np.concatenate([x[:, :1], np.diff(x, axis=1)], axis=1)


def recurrent(x):
    h, states = np.tanh(x[:, 0] @ W["q"]), []
    for token in range(x.shape[1]):
        h = np.tanh(x[:, token] @ W["k"] + 0.5 * h)
        states.append(h)
    return np.stack(states, axis=1)


def pooled_gate(x):
    scores = x @ BIAS
    e = np.exp(scores)[..., None]
    pooled = (e * x).sum(axis=1, keepdims=True) / e.sum(axis=1, keepdims=True)
    return x * np.tanh(pooled) + pooled[..., ::-1]


def statistics(x):
    top, low = x.max(axis=1), x.min(axis=1)
    rest = np.ptp(x, axis=(1, 2))
    pieces = [top[:, :2].sum(-1), low[:, 0], rest, np.median(x[..., 0], axis=1)]
    return np.broadcast_to(np.stack(pieces, axis=-1)[:, None, :], x.shape) + x * np.linalg.norm(x, axis=-1)[..., None]


def in_place(x):
    y = x.copy()
    y *= 2.0
    y -= y.mean(axis=1, keepdims=True)
    y[y < 0] = 0.0
    return y


def interpolated(x):
    return np.interp(x, [0.0, 0.25, 0.5, 1.0], [0.0, 1.0, 0.5, 0.75]) + np.polyval([1.0, 0.0, -2.0, 0.5], x)


def selected(x):
    return np.select([x < 0.25, x < 0.75], [x, 0.5 * x + 0.125], 0.5)


def grouped_convolution(x):
    places = np.clip(np.arange(x.shape[1])[:, None] + np.arange(-1, 2), 0, x.shape[1] - 1)
    return np.einsum("btkw,k->btw", x[:, places], np.array([0.25, 0.5, -0.25]))


def hyperbolic(x):
    return np.sinh(x) - np.cosh(x / 2) + np.arcsinh(x) * np.arctan(x) + np.log1p(x) + np.log2(1.5 + x) + np.exp2(x)


def tensor_products(x):
    mixed = np.tensordot(x, W["q"], axes=([2], [1])) + np.inner(x, W["k"]) + np.dot(x, W["v"])
    return np.average(mixed, axis=1, weights=np.arange(1.0, x.shape[1] + 1))[:, None] + mixed.cumsum(axis=-1) + 0 * x


def sorted_features(x):
    return np.sort(x, axis=-1) + np.sort(x, axis=1)[:, ::-1] + np.prod(x[..., :3], axis=-1, keepdims=True)


def pairwise_table(x):
    table = np.cos(np.subtract.outer(np.arange(x.shape[1]), np.arange(x.shape[1])))
    return (table[None, :, :, None] * x[:, None]).sum(axis=2) + np.matmul(table, x)


def soft_ranks(x):
    return expit((x[:, :, None] - x[:, None]) * 5.0).sum(axis=2)


def distances_to_others(x):
    d = np.linalg.norm(x[:, :, None] - x[:, None], axis=-1)
    w = np.exp(-d)
    return (w / w.sum(-1, keepdims=True)) @ x + d.mean(axis=1)[..., None]


def neural_sort(x):
    scores = x[..., 0]
    ordered = np.sort(scores, axis=1)[:, ::-1]
    s = -np.abs(ordered[:, :, None] - scores[:, None, :]) / 0.3
    p = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)
    return p @ x


def loop_over_tokens(x):
    total = np.zeros_like(x[:, 0])
    for token in x.swapaxes(0, 1):
        total = np.maximum(total, token - 0.2)
    return x * total[:, None]


FUNCTIONS = [value for name, value in list(globals().items()) if callable(value) and not name.startswith("_")]
FUNCTIONS = [f for f in FUNCTIONS if getattr(f, "__module__", None) == __name__]
