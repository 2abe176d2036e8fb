"""Sequences 0s0s: the second s is hidden and to be predicted, so each of its symbols has to come from the first half.

A symbol and its copy are `half` tokens apart. Which tokens see which is all that differs between the runs, so what a
model learns tells how well its pattern carries messages from one half to the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from anyformer.errors import TrainingError
from anyformer.training.run import seeds
from anyformer.training.run.loop import Batch, Task
from anyformer.training.run.ranges import at_least_one

ZERO = 0
"""The symbol before each s."""
AT_ONCE = 128
"""How many sequences are evaluated at a time."""


@dataclass(frozen=True)
class Alphabet:
    """What a sequence is made of: `length` symbols of `symbols` kinds, after a 0, twice."""

    length: int
    symbols: int

    def __post_init__(self) -> None:
        for name in ("length", "symbols"):
            at_least_one(name, getattr(self, name))
        if self.symbols < 2:
            raise TrainingError(f"symbols must be at least 2, or there is nothing to copy; got {self.symbols}.")

    @property
    def half(self) -> int:
        """How far apart a symbol and its copy are: 0 and s."""
        return self.length + 1

    @property
    def tokens(self) -> int:
        """The whole sequence, 0s0s."""
        return 2 * self.half

    @property
    def hidden(self) -> int:
        """The mark in place of every symbol of the second half."""
        return self.symbols + 1

    @property
    def vocabulary(self) -> int:
        """0, the symbols from 1 on, and the mark."""
        return self.symbols + 2


@final
@dataclass(frozen=True)
class Copying(Task):
    """Predict the second s; every batch has new sequences, and those to measure on are the same for all runs."""

    alphabet: Alphabet
    batch_size: int
    evaluated: int
    """How many sequences are measured while training; when all of them are copied, training ends."""
    seed: int

    def batch(self, step: int) -> Batch:
        """The sequences of a step."""
        return self._drawn(self.batch_size, "sequences", self.seed, step)

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """The shares of symbols and of whole sequences that are copied."""
        return self.measured(model, self.evaluated, "while training")

    def is_learned(self, measured: Mapping[str, float]) -> bool:
        """Whether everything measured was copied."""
        return measured.get("sequences") == 1.0

    def measured(self, model: nn.Module, count: int, purpose: str) -> dict[str, float]:
        """The same on so many sequences, drawn for a purpose."""
        batch = self._drawn(count, purpose)
        right = torch.cat(
            [
                model(batch["tokens"][start : start + AT_ONCE]).scores.argmax(dim=2)
                == batch["copied"][start : start + AT_ONCE]
                for start in range(0, count, AT_ONCE)
            ]
        )
        # Counted in whole numbers: a mean in float32 may round to 1.
        return {
            "symbols": int(right.sum()) / right.numel(),
            "sequences": int(right.all(dim=1).sum()) / count,
        }

    def _drawn(self, count: int, *purpose: int | str) -> Batch:
        drawn = seeds.generator(*purpose).integers(1, self.alphabet.symbols + 1, size=(count, self.alphabet.length))
        copied = torch.from_numpy(drawn)
        return {"tokens": sequences(self.alphabet, copied), "copied": copied}


def sequences(alphabet: Alphabet, copied: Tensor) -> Tensor:
    """0 s 0 and the mark for each symbol of s: (batch, length) becomes (batch, tokens)."""
    zeros = copied.new_full((len(copied), 1), ZERO)
    return torch.cat([zeros, copied, zeros, torch.full_like(copied, alphabet.hidden)], dim=1)
