"""Patterns along the bits of a token's number: with about log₂ n keys a token reaches all tokens in log₂ n steps."""

from dataclasses import dataclass
from typing import final

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.arrangement import sequential, union
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.neighbours import Neighbours, from_pairs
from anyformer.patterns.pattern import SparsityPattern, single
from anyformer.patterns.sizes import length


@final
@dataclass(frozen=True)
class Hypercube(PatternFamily):
    """Each token sees itself and the tokens whose number differs in one bit, in every layer."""

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        return union(_one_bit_each(tokens))

    def path(self, tokens: int) -> Integers:
        """A Gray code of the numbers below `tokens`."""
        return gray_path(tokens)


@final
@dataclass(frozen=True)
class Butterfly(PatternFamily):
    """Each token sees itself and the token whose number differs in one bit: the lowest, then the next, and so on."""

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        return sequential(_one_bit_each(tokens))

    def path(self, tokens: int) -> Integers:
        """A Gray code of the numbers below `tokens`."""
        return gray_path(tokens)


def gray_path(tokens: int) -> Integers:
    """The numbers below `tokens` in an order in which neighbours differ in one bit.

    With 2^m the largest power below n, the numbers from 2^m up are an initial segment too: walk them first. Clear
    the top bit of the last, b say; then b ⊕ (the reflected Gray code, which starts at 0) walks all numbers below 2^m.

    >>> gray_path(6).tolist()
    [5, 4, 0, 1, 3, 2]
    """
    if tokens == 1:
        return np.zeros(1, dtype=np.int64)
    half = 1 << (tokens - 1).bit_length() - 1
    upper, count = gray_path(tokens - half), np.arange(half, dtype=np.int64)
    return np.concatenate([upper + half, upper[-1] ^ count ^ (count >> 1)])


def _one_bit_each(tokens: int) -> list[SparsityPattern]:
    bits = max(1, (length(tokens) - 1).bit_length())
    return [single(_flipped(tokens, bit)) for bit in range(bits)]


def _flipped(tokens: int, bit: int) -> Neighbours:
    every = np.arange(tokens)
    partner = every ^ (1 << bit)
    paired = partner < tokens
    return from_pairs(tokens, np.append(every, every[paired]), np.append(every, partner[paired]))
