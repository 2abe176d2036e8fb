"""How weights start, where BERT's own start costs a small model millions of tokens.

With positions drawn at random and queries and keys drawn independently, no head can tell near from far, so attention
is an average, and a model of averages stays for long on the plateau of word frequencies. Here positions start as waves
of the size of the words, and each head's W_Q and W_K start such that W_Qᵀ W_K is close to a multiple of the identity
("mimetic initialization", Trockman and Kolter 2023): a token looks first at what resembles it, its neighbours in
position among them. All of it is trained from there.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from anyformer.mixers.attention import SelfAttention

IDENTITY, NOISE = 0.7, 0.7
"""W_Qᵀ W_K starts as IDENTITY · I + NOISE · Z with Z of entries N(0, 1/width): the paper's values."""


@torch.no_grad()
def initialize(model: Any) -> None:
    """Draw anew what BERT's start leaves to chance, in place, from PyTorch's generator."""
    embeddings = model.bert.embeddings
    positions = embeddings.position_embeddings.weight
    size = embeddings.word_embeddings.weight.std()
    positions.copy_(waves(*positions.shape) * math.sqrt(2) * size)  # a wave's deviation is 1/√2 of its height
    for module in model.modules():
        if isinstance(module, SelfAttention):
            look_alike(module)


def waves(count: int, width: int) -> Tensor:
    """(count, width): sines and cosines of falling frequencies, as in "Attention is all you need"."""
    frequencies = 10_000 ** -(torch.arange(0, width, 2) / width)
    angles = torch.arange(count)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :width]


def look_alike(attention: SelfAttention) -> None:
    """For each head the best W_Qᵀ W_K of its rank, by singular values, for its own draw of the noise."""
    width, heads = attention.width, attention.heads
    for query, key in zip(_heads(attention.query, heads), _heads(attention.key, heads), strict=True):
        wanted = IDENTITY * torch.eye(width) + NOISE * torch.randn(width, width) / math.sqrt(width)
        left, values, right = torch.linalg.svd(wanted)
        rank, roots = len(query), values[: len(query)].sqrt()
        query.copy_((left[:, :rank] * roots).T)
        key.copy_(right[:rank] * roots[:, None])


def _heads(projection: nn.Linear, heads: int) -> tuple[Tensor, ...]:
    """Each head's rows of a weight."""
    parts: tuple[Tensor, ...] = projection.weight.chunk(heads)
    return parts
