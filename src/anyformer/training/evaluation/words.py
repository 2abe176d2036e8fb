"""Masked words of a whole text: every window once, so that nothing depends on a draw or on the size of a batch."""

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import torch
from numpy.typing import NDArray

from anyformer.arrays import Array, Integers
from anyformer.training.data.tokens import require_sequences
from anyformer.training.run import seeds
from anyformer.training.run.loop import Batch
from anyformer.training.run.recipe import Text
from anyformer.training.tasks.examples import AT_ONCE
from anyformer.training.tasks.masked_words import Marks, framed, halves, hidden, judged_words

DIGITS = 6
"""Decimals that files keep: single precision has no more."""


@final
@dataclass(frozen=True, eq=False)
class WordScores:
    """How well hidden words are predicted, window by window; two models are compared on the same windows."""

    losses: Array
    """(windows,): the mean loss of a window's hidden words, in nats."""
    accuracies: Array
    """(windows,): the share of a window's hidden words that are found."""
    hidden: int
    """Words that each window hides: as many in all, so that the mean over windows is that over words."""

    @property
    def loss(self) -> float:
        """The mean over all hidden words."""
        return float(self.losses.mean())

    @property
    def accuracy(self) -> float:
        """The share of all hidden words that are found."""
        return float(self.accuracies.mean())

    @property
    def words(self) -> int:
        """How many words were hidden in all."""
        return self.hidden * len(self.losses)

    def to_json(self) -> dict[str, Any]:
        """As files keep it, window by window."""
        losses, accuracies = ([round(float(one), DIGITS) for one in many] for many in (self.losses, self.accuracies))
        return {"hidden": self.hidden, "losses": losses, "accuracies": accuracies}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Self:
        """Read it back."""
        return cls(np.array(told["losses"]), np.array(told["accuracies"]), told["hidden"])


def measure_words(model: Any, ids: NDArray[Any], marks: Marks, text: Text, at_once: int = AT_ONCE) -> WordScores:
    """Predict hidden words in all windows of a text that follow each other without overlap.

    What a window hides follows from its number alone. Tokens at the end that fill no window are left out. Where the
    recipe has second halves (`following`), they are always those that follow.

    Args:
        model: one for masked words, as `pretrain` makes it.
        ids: (tokens,) of the text held out.
        marks: the special tokens, by `Marks.of(tokenizer)`.
        text: how long windows are, and what share is hidden.
        at_once: windows a forward pass; it changes the results by rounding only.
    """
    require_sequences(ids, text.tokens)
    losses, accuracies = [], []
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            for start in range(0, count := windows_in(ids, text), at_once):
                batch = _stacked([_window(ids, n, marks, text) for n in range(start, min(start + at_once, count))])
                _, loss, right = judged_words(model, batch)
                losses.append(loss.double().mean(dim=1).cpu().numpy())
                accuracies.append(right.double().mean(dim=1).cpu().numpy())
    finally:
        model.train(was_training)
    return WordScores(np.concatenate(losses), np.concatenate(accuracies), text.hidden)


def windows_in(ids: NDArray[Any], text: Text) -> int:
    """How many whole windows a text has."""
    return len(ids) // sum(halves(text))


def _window(ids: NDArray[Any], number: int, marks: Marks, text: Text) -> Batch:
    length = sum(halves(text))
    words: Integers = ids[None, number * length : (number + 1) * length].astype(np.int64)
    return hidden(framed(words, marks, text), marks, text, seeds.generator("measured", number))


def _stacked(windows: list[Batch]) -> Batch:
    return {name: torch.cat([window[name] for window in windows]) for name in windows[0]}
