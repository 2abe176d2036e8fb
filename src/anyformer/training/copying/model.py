"""A small Transformer encoder whose layers are any token mixers, such as attention over a sparsity pattern.

Norms come before attention and feed-forward layers. Positions are learned and start as large as symbols: half of their
coordinates as waves, with which a head easily finds a token at some distance from its own, and half of them at random,
which tell tokens apart at once.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu

from anyformer.mixers.mixer import Mixer, TokenMixer
from anyformer.training.copying.task import Alphabet
from anyformer.training.tasks.initialization import positions


@dataclass(frozen=True)
class Scored:
    """Scores of all words for every hidden symbol, (batch, length, vocabulary), and their loss if it was asked for."""

    scores: Tensor
    loss: Tensor | None


class Copier(nn.Module):
    """Embeddings, `layers` blocks, and the scores of the hidden symbols."""

    def __init__(self, alphabet: Alphabet, mixer: Mixer, layers: int, width: int) -> None:
        super().__init__()
        self.half = alphabet.half
        self.symbols = nn.Embedding(alphabet.vocabulary, width)
        self.positions = nn.Parameter(first_positions(alphabet.tokens, width))
        self.blocks = nn.ModuleList(Block(width, mixer.build_layer(layer, width)) for layer in range(layers))
        self.norm = nn.LayerNorm(width)
        self.scores = nn.Linear(width, alphabet.vocabulary)

    def forward(self, tokens: Tensor, copied: Tensor | None = None) -> Scored:
        """Scores for the second s of (batch, tokens) sequences; with the right symbols also the mean loss."""
        stream = self.symbols(tokens) + self.positions
        for block in self.blocks:
            stream = block(stream)
        scores = self.scores(self.norm(stream[:, self.half + 1 :]))
        return Scored(scores, None if copied is None else cross_entropy(scores.flatten(0, 1), copied.flatten()))


def first_positions(tokens: int, width: int) -> Tensor:
    """(tokens, width): entries of mean square 1, at random in the first half of the coordinates, waves in the others.

    The fastest wave tells neighbours apart, the slowest has the length of the sequence.
    """
    rates = torch.logspace(math.log10(math.pi), math.log10(2 * math.pi / tokens), width // 4)
    start = math.sqrt(2) * positions(tokens, width, rates)
    start[:, : width - 2 * len(rates)].normal_()
    return start


class Block(nn.Module):
    """A mixer with W_O and a feed-forward layer, each behind a norm and beside a residual connection."""

    def __init__(self, width: int, mixer: TokenMixer) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixer, self.output = mixer, nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, stream: Tensor) -> Tensor:
        """(batch, tokens, width) to the same."""
        stream = stream + self.mixer.projected(self.first(stream), None, self.output)
        return stream + self.down(gelu(self.up(self.second(stream))))
