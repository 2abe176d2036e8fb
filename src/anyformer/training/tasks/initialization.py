"""Initial weights: BERT's own initialisation costs a small model millions of tokens.

With positions drawn at random and queries and keys drawn independently, no head can tell near from far. Attention is
then an average, and a model of averages stays on a plateau for long: first that of word frequencies, then that of the
words of a text without their order. A bilinear projection has the same problem. A convolution sees its neighbours from
the start. So here the other mixers see them too:

- positions are waves in a quarter of the coordinates, four times as strong there as a word is, so that a head that
  reads these coordinates sees positions and hardly any words;
- each attention head reads them with its keys, and with its queries rotated by the distance at which it should look, so
  at the start it looks at one neighbour: the first head at the token before, the second at the one after, …; a causal
  head has none after it, so the second looks at the one before that, …;
- each bilinear projection starts as a shift by one neighbour, the first layer's from the token before, ….

All of these weights are then trained, and the architecture is unchanged.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from anyformer.mixers.attention import AttentionHeads
from anyformer.mixers.bilinear import BilinearProjection
from anyformer.mixers.mixer import is_causal

SHARE = 4
"""One of so many coordinates carries positions."""
STRENGTH = 4.0
"""How much larger a position is there than a word."""
PEAK = 10.0
"""The initial score of a head's neighbour; other scores are lower, so it gets about three quarters of the attention."""
FASTEST, SLOWEST = 2.5, 0.05
"""Radians a token: of waves that tell neighbours apart, and of waves that tell far from near."""
FAINT = 0.1
"""How much of its random start a bilinear projection keeps beside the shift."""


@torch.no_grad()
def initialize(model: Any) -> None:
    """Replace BERT's random positions, attention and bilinear weights, in place, with PyTorch's generator."""
    embeddings = model.bert.embeddings
    count, width = embeddings.position_embeddings.weight.shape
    rates = frequencies(width)
    size = STRENGTH * embeddings.word_embeddings.weight.std()
    embeddings.position_embeddings.weight.copy_(positions(count, width, rates) * size)
    for place, (value, layer) in enumerate(zip(model.config.layer_mixers, model.bert.encoder.layer, strict=True)):
        mixer = layer.attention.self
        if isinstance(mixer, AttentionHeads):
            look_at_neighbours(mixer, rates, earlier if is_causal(value) else neighbour)
        elif isinstance(mixer, BilinearProjection):
            shift(mixer, neighbour(place))


def neighbour(number: int) -> int:
    """The offset of the neighbour that the head or layer of this number looks at first.

    >>> [neighbour(number) for number in range(5)]
    [-1, 1, -2, 2, -3]
    """
    return (number // 2 + 1) * (-1 if number % 2 == 0 else 1)


def earlier(number: int) -> int:
    """The same for a head that sees no later tokens.

    >>> [earlier(number) for number in range(4)]
    [-1, -2, -3, -4]
    """
    return -1 - number


def frequencies(width: int) -> Tensor:
    """Of the waves, from fast to slow: one for each two coordinates that carry positions."""
    count = max(1, width // SHARE // 2)
    return torch.logspace(math.log10(FASTEST), math.log10(SLOWEST), count)


def positions(count: int, width: int, rates: Tensor) -> Tensor:
    """(count, width): sine and cosine of each wave in the last coordinates, and zeros before them."""
    angles = torch.arange(count)[:, None] * rates
    waves = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
    return torch.nn.functional.pad(waves, (width - waves.shape[1], 0))


def look_at_neighbours(attention: AttentionHeads, rates: Tensor, offset_of: Callable[[int], int] = neighbour) -> None:
    """Let each head look at its neighbour.

    With a wave's sine and cosine at j as the key, and at i + offset as the query, their product is cos(rate·(i + offset
    − j)), whose sum over waves is largest at j = i + offset. The turn by rate·offset is linear in sine and cosine at i.
    """
    size = attention.width // attention.heads
    used = min(len(rates), size // 2)
    gain = math.sqrt(PEAK * math.sqrt(size) / (max(used, 1) * _power(attention.width, rates)))
    for head in range(attention.heads):
        offset = offset_of(head)
        for place, wave in enumerate(torch.linspace(0, len(rates) - 1, used).round().int().tolist()):
            angle = float(rates[wave]) * offset
            turn = torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
            row, column = head * size + 2 * place, attention.width - 2 * (len(rates) - wave)
            attention.query.weight[row : row + 2, column : column + 2] += gain * turn
            attention.key.weight[row : row + 2, column : column + 2] += gain * torch.eye(2)


def _power(width: int, rates: Tensor) -> float:
    """Sine² + cosine² of a wave after the norm, which makes the squares of all coordinates add up to the width.

    Before it, in squares of a word's size, words have 1 a coordinate and each wave has STRENGTH² in its two.
    """
    return STRENGTH**2 * width / (width + STRENGTH**2 * len(rates))


def shift(projection: BilinearProjection, offset: int) -> None:
    """Token j gets token j + offset, and faintly what it got before."""
    looked_at = torch.ones(max(projection.max_length - abs(offset), 0))
    projection.W_P.mul_(FAINT)
    projection.W_P.diagonal(-offset).add_(looked_at)
