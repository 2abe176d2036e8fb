"""How to cut cells: along the inputs that an output depends on, the most sensitive first. Chosen from samples."""

from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.certificates.propagation.enclosures import Enclosure
from anyformer.targets.target import Target

SAMPLES = 64
STEP = 2.0**-12


@dataclass(frozen=True, eq=False)
class SplittingRule:
    """Which output entries are treated together, and how much each input entry moves them."""

    entries: Integers
    influence: Array

    def pieces(self, level: int) -> tuple[int, ...]:
        """Pieces along every input entry after `level` halvings, each along the input that moves the outputs most."""
        pieces = np.ones(len(self.influence), dtype=np.int64)
        for _ in range(level):
            pieces[int((self.influence / pieces).argmax())] *= 2
        return tuple(pieces.tolist())


def splitting_groups(target: Target) -> list[SplittingRule]:
    """One rule for all output entries that depend on the same inputs, as far as samples show."""
    influence = _influence(target)
    depends = influence > 1e-9 * influence.max(initial=1e-300)
    patterns, group = np.unique(depends, axis=0, return_inverse=True)
    rules = []
    for k in range(len(patterns)):
        entries = np.flatnonzero(group.ravel() == k)
        total = influence[entries].sum(axis=0)
        # Outputs that nothing seems to move are cut evenly, in case the samples missed something.
        rules.append(SplittingRule(entries, total if total.any() else np.ones_like(total)))
    return rules


def _influence(target: Target) -> Array:
    """Mean change of every output entry (row) when an input entry (column) moves by a small share of its side."""
    rng = np.random.default_rng(11)
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    count = target.tokens * target.width
    steps = np.zeros((count, target.tokens, target.width))
    steps[np.arange(count), np.arange(count) // target.width, np.arange(count) % target.width] = 1.0
    x = low + (rng.random((SAMPLES, target.tokens, target.width)) * (1 - 2 * STEP) + STEP) * (high - low)
    moved = x[:, None] + steps * STEP * (high - low)
    change = target(moved.reshape(-1, *x.shape[1:])).reshape(SAMPLES, count, count) - target(x).reshape(
        SAMPLES, 1, count
    )
    return np.asarray(np.abs(change).mean(axis=0).T)


def subdivided(boxes: Enclosure, pieces: tuple[int, ...]) -> tuple[Array, Array]:
    """Each box cut into pieces[e] along entry e: ends of shape (batch · pieces, tokens, width), the batch outermost.

    In memory all boxes of an entry lie side by side, which is how arithmetic on them is fast.
    """
    batch, tokens, width = boxes.low.shape
    start, stop = boxes.low.reshape(batch, -1), boxes.high.reshape(batch, -1)
    spots = np.indices(pieces).reshape(len(pieces), -1)
    lows, highs = (np.empty((tokens, width, batch, spots.shape[1])) for _ in range(2))
    for entry, count in enumerate(pieces):
        cuts = start[:, entry, None] + np.linspace(0.0, 1.0, count + 1) * (stop - start)[:, entry, None]
        cuts[:, -1] = stop[:, entry]
        lows[entry // width, entry % width] = cuts[:, spots[entry]]
        highs[entry // width, entry % width] = cuts[:, spots[entry] + 1]
    return tuple(np.moveaxis(ends.reshape(tokens, width, -1), -1, 0) for ends in (lows, highs))  # type: ignore[return-value]
