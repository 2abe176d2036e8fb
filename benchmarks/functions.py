"""Functions of our own making, in plain NumPy, as users would write them: to be compiled, proved and sampled.

Weights are fixed random numbers. Inputs and outputs are (batch, tokens, width) arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erf, expit

from anyformer.arrays import Array
from anyformer.targets import Box, Symmetry, Target, target


def weights(seed: int, *shape: int) -> Array:
    """Normal numbers, divided by the root of the inputs that they add up."""
    return np.random.default_rng(seed).normal(size=shape) / np.sqrt(shape[0])


def softmax(scores: Array) -> Array:
    """Along the last axis, as everybody writes it."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def gelu(x: Array) -> Array:
    """x Φ(x)."""
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


# Gates ---------------------------------------------------------------------------------------------------------------


def gated_linear_unit(x: Array) -> Array:
    """One linear map times the sigmoid of another."""
    return (x @ weights(1, 4, 4)) * expit(x @ weights(2, 4, 4))


def swish_gate(x: Array) -> Array:
    """Every token times the sigmoid of the mean."""
    return x / (1 + np.exp(-3 * x.mean(axis=1, keepdims=True)))


# Normalisation -------------------------------------------------------------------------------------------------------


def layer_norm(x: Array, epsilon: float = 0.1) -> Array:
    """Every token, its numbers with mean 0 and about variance 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(centred.var(axis=-1, keepdims=True) + epsilon)


def standardise(x: Array) -> Array:
    """Every coordinate with mean 0 and about variance 1 over the tokens."""
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 0.01)


def rms_norm(x: Array) -> Array:
    """Every token over the root of the mean of its squares."""
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 0.1)


# Order ---------------------------------------------------------------------------------------------------------------


def soft_rank(x: Array) -> Array:
    """For every token, the share of tokens that are smaller, softly."""
    return expit((x - x.swapaxes(1, 2)) / 0.2).mean(axis=2, keepdims=True)


def soft_sort(x: Array) -> Array:
    """The mean of tokens close to the one that sorting puts here."""
    squares = (np.sort(x, axis=1) - x.swapaxes(1, 2)) ** 2
    return softmax(-50 * squares) @ x


def soft_median(x: Array) -> Array:
    """Tokens near the median count most."""
    near = np.exp(-10 * np.abs(x - np.median(x, axis=1, keepdims=True)))
    return np.broadcast_to((near * x).sum(axis=1, keepdims=True) / near.sum(axis=1, keepdims=True), x.shape)


# Kernels and distances -----------------------------------------------------------------------------------------------


def kernel_smoothing(x: Array) -> Array:
    """Nadaraya and Watson: the mean of all tokens, weighted by a Gaussian of their distance."""
    squares = ((x[:, :, None] - x[:, None]) ** 2).sum(axis=-1)
    kernel = np.exp(-squares / (2 * 0.5**2))
    return kernel @ x / kernel.sum(axis=-1, keepdims=True)


def distance_to_centroid(x: Array) -> Array:
    """The Euclidean distance of every token to the mean."""
    return np.broadcast_to(np.linalg.norm(x - x.mean(axis=1, keepdims=True), axis=-1, keepdims=True), x.shape)


def cosine_to_mean(x: Array) -> Array:
    """The cosine of every token with the mean token, with a small number for safety."""
    mean = x.mean(axis=1, keepdims=True)
    lengths = np.sqrt((x**2).sum(axis=-1, keepdims=True) + 0.1) * np.sqrt((mean**2).sum(axis=-1, keepdims=True) + 0.1)
    return np.broadcast_to((x * mean).sum(axis=-1, keepdims=True) / lengths, x.shape)


# Perceptrons ---------------------------------------------------------------------------------------------------------


def gelu_perceptron(x: Array) -> Array:
    """Eight hidden GELUs."""
    return gelu(x @ weights(3, 3, 8) + 0.1) @ weights(4, 8, 3)


def tanh_perceptron(x: Array) -> Array:
    """Two layers of tanh, the second of which sees the mean of the first."""
    hidden = np.tanh(2 * x @ weights(5, 2, 6))
    return np.tanh((hidden - hidden.mean(axis=1, keepdims=True)) @ weights(6, 6, 2))


# Attention -----------------------------------------------------------------------------------------------------------


def attend(x: Array, seed: int, bias: Array | float = 0.0) -> Array:
    """Two heads of size 2 on tokens of width 4, with a bias on the scores."""
    heads = []
    for head in range(2):
        queries, keys, values = (x @ weights(seed + 3 * head + k, 4, 2) for k in range(3))
        heads.append(softmax(queries @ keys.swapaxes(1, 2) / np.sqrt(2) + bias) @ values)
    return np.concatenate(heads, axis=-1) @ weights(seed + 9, 4, 4)


def multi_head_attention(x: Array) -> Array:
    """Two heads."""
    return attend(x, seed=10)


def causal_attention(x: Array) -> Array:
    """Every token sees itself and those before it."""
    tokens = x.shape[1]
    return attend(x, seed=20, bias=np.where(np.tri(tokens, dtype=bool), 0.0, -np.inf))


def alibi_attention(x: Array) -> Array:
    """Scores fall with the distance of positions."""
    place = np.arange(x.shape[1])
    return attend(x, seed=30, bias=-0.5 * np.abs(place[:, None] - place))


def transformer_block(x: Array) -> Array:
    """Attention and a perceptron with eight GELUs, each with its residual."""
    x = x + attend(x, seed=40)
    return x + gelu(x @ weights(50, 4, 8)) @ weights(51, 8, 4)


def transformer_block_with_norms(x: Array) -> Array:
    """The same with layer norm before each half; 1 is added to the variances."""
    x = x + attend(layer_norm(x, 1.0), seed=40)
    return x + gelu(layer_norm(x, 1.0) @ weights(50, 4, 8)) @ weights(51, 8, 4)


# Positions -----------------------------------------------------------------------------------------------------------


def positional_encoding(x: Array) -> Array:
    """Tokens with sines and cosines of their positions added, and squashed."""
    place = np.arange(x.shape[1])[:, None] / np.array([1.0, 10.0])
    return np.tanh(x + np.concatenate([np.sin(place), np.cos(place)], axis=-1))


def exponential_moving_average(x: Array) -> Array:
    """Old tokens count less and less, by a loop over positions."""
    averages = [x[:, 0]]
    for place in range(1, x.shape[1]):
        averages.append(0.7 * averages[-1] + 0.3 * x[:, place])
    return np.stack(averages, axis=1)


def smoothed_difference(x: Array) -> Array:
    """How far every token is from the mean of those up to it, squashed."""
    so_far = np.cumsum(x, axis=1) / np.arange(1, x.shape[1] + 1)[:, None]
    return np.tanh(2 * (x - so_far))


# Elementwise and pooling ---------------------------------------------------------------------------------------------


def polynomial_features(x: Array) -> Array:
    """Products of coordinates up to degree 3."""
    a, b = x[..., 0], x[..., 1]
    return np.stack([a * b - a**2, a * b**2 + 0.5 * a**3], axis=-1)


def leaky_and_clipped(x: Array) -> Array:
    """A leaky ReLU around the mean, then a clip."""
    centred = x - x.mean(axis=1, keepdims=True)
    return np.clip(np.where(centred > 0, centred, 0.1 * centred), -0.05, 0.5)


def huber_loss(x: Array) -> Array:
    """Huber's loss of the distance to the median."""
    away = np.abs(x - np.median(x, axis=1, keepdims=True))
    near = np.minimum(away, 0.3)
    return 0.5 * near**2 + 0.3 * (away - near)


def log_sum_exp_pooling(x: Array) -> Array:
    """A soft maximum, taken from every token."""
    pooled = np.log(np.exp(4 * x).mean(axis=1, keepdims=True)) / 4
    return x - pooled


def softmax_entropy(x: Array) -> Array:
    """The entropy of the softmax over tokens, in every place."""
    shares = softmax(2 * x.swapaxes(1, 2))
    return np.broadcast_to(-(shares * np.log(shares)).sum(axis=-1, keepdims=True), x.shape)


@dataclass(frozen=True)
class Case:
    """A function with the sizes, the domain and the tolerance that it is compiled for."""

    function: Callable[[Array], Array]
    tokens: int
    width: int
    tolerance: float
    low: float = 0.0
    high: float = 1.0
    has_positions: bool = False

    @property
    def name(self) -> str:
        """In words."""
        return self.function.__name__.replace("_", " ")

    @property
    def target(self) -> Target:
        """As the builder takes it."""
        symmetry = Symmetry.NONE if self.has_positions else Symmetry.EQUIVARIANT
        return target(
            self.function,
            tokens=self.tokens,
            width=self.width,
            domain=Box(self.low, self.high),
            symmetry=symmetry,
            name=self.name,
        )


CASES = (
    Case(gated_linear_unit, 16, 4, 1e-3, -1, 1),
    Case(swish_gate, 64, 2, 1e-4, -1, 1),
    Case(layer_norm, 16, 4, 1e-3, -1, 1),
    Case(standardise, 16, 1, 1e-3),
    Case(rms_norm, 16, 4, 1e-3, -1, 1),
    Case(soft_rank, 16, 1, 1e-3),
    Case(soft_sort, 8, 1, 1e-3, has_positions=True),
    Case(soft_median, 9, 1, 1e-3),
    Case(kernel_smoothing, 32, 2, 1e-4, -1, 1),
    Case(distance_to_centroid, 64, 2, 1e-4, -1, 1),
    Case(cosine_to_mean, 16, 3, 1e-3, -1, 1),
    Case(gelu_perceptron, 32, 3, 1e-4, -1, 1),
    Case(tanh_perceptron, 16, 2, 1e-3, -1, 1),
    Case(multi_head_attention, 32, 4, 1e-4, -1, 1),
    Case(causal_attention, 16, 4, 1e-4, -1, 1, has_positions=True),
    Case(alibi_attention, 16, 4, 1e-4, -1, 1, has_positions=True),
    Case(transformer_block, 32, 4, 1e-3, -1, 1),
    Case(transformer_block_with_norms, 16, 4, 1e-3, -0.5, 0.5),
    Case(positional_encoding, 64, 4, 1e-4, -1, 1, has_positions=True),
    Case(exponential_moving_average, 32, 2, 1e-4, has_positions=True),
    Case(smoothed_difference, 32, 2, 1e-4, has_positions=True),
    Case(polynomial_features, 16, 2, 1e-4, -1, 1),
    Case(leaky_and_clipped, 64, 3, 1e-4),
    Case(huber_loss, 16, 1, 1e-4),
    Case(log_sum_exp_pooling, 64, 1, 1e-4),
    Case(softmax_entropy, 16, 1, 1e-3),
)
