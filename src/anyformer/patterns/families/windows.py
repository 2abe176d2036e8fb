"""Patterns of neighbours in the sequence: full, windows, ring and blocks."""

from dataclasses import dataclass
from typing import final

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.families.family import PatternFamily, in_order
from anyformer.patterns.neighbours import Neighbours, every_pair, from_pairs
from anyformer.patterns.pattern import SparsityPattern, single
from anyformer.patterns.sizes import about_root, length, require_room, whole_number


def sliding_window(tokens: int, half_width: int, dilation: int = 1) -> Neighbours:
    """Token k sees k + i·dilation for |i| ≤ half_width, as far as these are tokens."""
    farthest = min(half_width, (tokens - 1) // dilation)  # there are no tokens farther away, however wide the window is
    reach = np.arange(-farthest, farthest + 1) * min(dilation, tokens)
    require_room(tokens * len(reach))
    keys = np.arange(tokens)[:, None] + reach
    inside = (keys >= 0) & (keys < tokens)
    return from_pairs(tokens, np.nonzero(inside)[0], keys[inside])


def classes(labels: Integers) -> Neighbours:
    """Tokens of equal label see each other; `labels` has shape (tokens,)."""
    require_room(int(np.square(np.bincount(labels)).sum()))
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)[labels[order]]  # of the class of each token, in order of classes
    starts = np.searchsorted(labels[order], labels[order])
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return from_pairs(len(labels), np.repeat(order, sizes), order[np.repeat(starts, sizes) + within])


@final
@dataclass(frozen=True)
class Full(PatternFamily):
    """Every token sees every token: n² connections."""

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        tokens = length(tokens)
        require_room(tokens**2)
        return single(every_pair(tokens))

    def path(self, tokens: int) -> Integers:
        """The tokens in order."""
        return in_order(tokens)


@final
@dataclass(frozen=True)
class SlidingWindow(PatternFamily):
    """Each token sees `half_width` tokens on either side and itself."""

    half_width: int = 1

    def __post_init__(self) -> None:
        whole_number("half_width", self.half_width, least=0)

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        return single(sliding_window(length(tokens), self.half_width))

    def path(self, tokens: int) -> Integers | None:
        """The tokens in order, along the window if it has any width."""
        return in_order(tokens) if self.half_width else None


@final
@dataclass(frozen=True)
class DilatedWindow(PatternFamily):
    """A window with gaps: each token sees every `dilation`-th token, `half_width` of them on either side.

    Alone it is not universal, because tokens with different remainders never meet; in sequence with a window it is.
    """

    half_width: int = 1
    dilation: int = 2

    def __post_init__(self) -> None:
        whole_number("half_width", self.half_width, least=0)
        whole_number("dilation", self.dilation, least=1)

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        return single(sliding_window(length(tokens), self.half_width, self.dilation))


@final
@dataclass(frozen=True)
class Ring(PatternFamily):
    """Each token sees the one before, itself and the one after; the last and the first are neighbours."""

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        return single(ring(length(tokens)))

    def path(self, tokens: int) -> Integers:
        """The tokens in order."""
        return in_order(tokens)


def ring(tokens: int) -> Neighbours:
    """Token k sees k − 1, k and k + 1, modulo the length."""
    every = np.arange(tokens)
    return from_pairs(tokens, np.repeat(every, 3), (every[:, None] + [-1, 0, 1]) % tokens)


@final
@dataclass(frozen=True)
class BlockLocal(PatternFamily):
    """Tokens see their own block of `block` tokens, about √n if none is given; blocks never meet."""

    block: int | None = None

    def __post_init__(self) -> None:
        if self.block is not None:
            whole_number("block", self.block, least=1)

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        tokens = length(tokens)
        return single(classes(np.arange(tokens) // (self.block or about_root(tokens))))
