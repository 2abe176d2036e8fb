"""Patterns with tokens that see all and are seen by all: star, Longformer, BigBird."""

from dataclasses import dataclass
from typing import final

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.families.family import PatternFamily, in_order
from anyformer.patterns.families.random_keys import random_keys
from anyformer.patterns.families.windows import ring, sliding_window
from anyformer.patterns.neighbours import Neighbours, from_pairs, united
from anyformer.patterns.pattern import SparsityPattern, single
from anyformer.patterns.sizes import length, require_room, whole_number


def relays(tokens: int, count: int) -> Neighbours:
    """The first `count` tokens see all and are seen by all; the others see only these and themselves."""
    require_room(2 * tokens * min(count, tokens) + tokens)
    every, first = np.arange(tokens), np.arange(min(count, tokens))
    outwards = np.repeat(first, tokens), np.tile(every, len(first))
    queries = np.concatenate([outwards[0], outwards[1], every])
    return from_pairs(tokens, queries, np.concatenate([outwards[1], outwards[0], every]))


@final
@dataclass(frozen=True)
class PlainStar(PatternFamily):
    """Token 0 is a relay that sees all and is seen by all; the others see only it and themselves."""

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        return single(relays(length(tokens), 1))

    def path(self, tokens: int) -> Integers | None:
        """Up to three tokens there is one, through the relay; from four on there is none."""
        known = {1: [0], 2: [0, 1], 3: [1, 0, 2]}
        return np.array(known[tokens], dtype=np.int64) if tokens in known else None


@final
@dataclass(frozen=True)
class Star(PatternFamily):
    """The paper's STAR: a ring, and token 0 as a relay that sees all and is seen by all."""

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        tokens = length(tokens)
        return single(united([ring(tokens), relays(tokens, 1)]))

    def path(self, tokens: int) -> Integers:
        """The tokens in order, along the ring."""
        return in_order(tokens)


@final
@dataclass(frozen=True)
class Longformer(PatternFamily):
    """A sliding window, and the first `global_tokens` tokens as relays."""

    half_width: int = 1
    global_tokens: int = 1

    def __post_init__(self) -> None:
        whole_number("half_width", self.half_width, least=0)
        whole_number("global_tokens", self.global_tokens, least=0)

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        tokens = length(tokens)
        return single(united([sliding_window(tokens, self.half_width), relays(tokens, self.global_tokens)]))

    def path(self, tokens: int) -> Integers | None:
        """The tokens in order, along the window if it has any width."""
        return in_order(tokens) if self.half_width else None


@final
@dataclass(frozen=True)
class BigBird(PatternFamily):
    """A sliding window, the first `global_tokens` tokens as relays, and `random_keys` random keys a token."""

    half_width: int = 1
    global_tokens: int = 1
    random_keys: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("half_width", self.half_width, least=0)
        whole_number("global_tokens", self.global_tokens, least=0)
        whole_number("random_keys", self.random_keys, least=0)
        whole_number("seed", self.seed, least=0)

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        tokens = length(tokens)
        local, far = sliding_window(tokens, self.half_width), relays(tokens, self.global_tokens)
        return single(united([local, far, random_keys(tokens, self.random_keys, self.seed)]))

    def path(self, tokens: int) -> Integers | None:
        """The tokens in order, along the window if it has any width."""
        return in_order(tokens) if self.half_width else None
