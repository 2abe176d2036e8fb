"""BProj: a bilinear projection, X W_P for a trained W_P that knows positions but no contents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import torch
from torch import Tensor, nn

from anyformer.errors import MixerError
from anyformer.mixers.mixer import Mixer, TokenMixer, positive

MOST_LENGTH = 1 << 15
"""W_P has the square of it: four gigabytes."""


@final
class BilinearProjection(TokenMixer):
    """Token j gets Σ_i W_P[i, j] · token i. A shorter sequence uses the corner of W_P, as if zeros followed it."""

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__(width)
        positive("max_length", max_length, MOST_LENGTH)
        self.max_length = max_length
        self.W_P = nn.Parameter(torch.empty(max_length, max_length))
        self.reset_parameters()

    def reset_parameters(self, normal: Callable[..., Any] = nn.init.normal_) -> None:
        """Normal; a sequence of the maximal length keeps its scale: max_length terms of variance 1/max_length."""
        normal(self.W_P, std=self.max_length**-0.5)

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """One matrix product along the tokens."""
        tokens = hidden.shape[1]
        if tokens > self.max_length:
            raise MixerError(
                f"a sequence must have at most max_length = {self.max_length} tokens, for W_P is tied to positions;"
                f" got {tokens}. Cut the sequences, or build Bilinear(max_length={tokens})."
            )
        real = hidden if keep is None else hidden.masked_fill(~keep[..., None], 0.0)
        return self.W_P[:tokens, :tokens].T @ real


@final
@dataclass(frozen=True)
class Bilinear(Mixer):
    """BProj for sequences of at most `max_length` tokens; 384 is what the paper's parameter count amounts to."""

    without_causal: ClassVar[str] = (
        "W_P gives each token a share of all others by their places, and a causal form would leave half of it unused"
    )

    max_length: int = 384

    def __post_init__(self) -> None:
        positive("max_length", self.max_length, MOST_LENGTH)

    @property
    def longest(self) -> int:
        """W_P has no more places."""
        return self.max_length

    def useful(self, longest: int) -> Mapping[str, int]:
        """W_P beyond the longest sequence is never used."""
        return {"max_length": longest}

    def build(self, width: int, dropout: float = 0.0) -> BilinearProjection:
        """The module, with fresh parameters; no weights are dropped."""
        positive("width", width)
        return BilinearProjection(width, self.max_length)
