"""The patterns on which attention is timed, as anyformer knows them and, where there is one, as a formula."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias, final

import numpy as np
import torch

from anyformer.arrays import Booleans
from anyformer.patterns import Arrangement, Longformer, Neighbours, Random, SparsityPattern, Star, Strided, single

HEADS: Final = 8
HEAD_SIZE: Final = 64
HALF_WIDTH: Final = 64
GLOBALS: Final = 4
BLOCK: Final = 64
RANDOM_BLOCKS: Final = 3
RANDOM_KEYS: Final = 16

Formula: TypeAlias = Callable[[Any, Any], Any]
"""Whether query i sees key j, for tensors i and j."""


@final
@dataclass(frozen=True)
class Case:
    """A pattern of one list, at every length."""

    name: str
    at: Callable[[int], SparsityPattern]
    formula: Callable[[int], Formula] | None = None
    """At a length. FlexAttention is much faster with a formula than with a table of pairs."""
    is_linear: bool = True
    """Whether a token has so many pairs on average, at every length."""


@cache
def pattern(case: Case, tokens: int) -> SparsityPattern:
    """The pattern at this length, made once."""
    return case.at(tokens)


def neighbours(case: Case, tokens: int) -> Neighbours:
    """Its list."""
    return pattern(case, tokens).layer(0)


def _bird(tokens: int) -> SparsityPattern:
    """BigBird as it is run: on blocks of 64 tokens, of which all 64 see the same blocks."""
    seen, within = _bird_blocks(tokens // BLOCK), np.arange(BLOCK)
    keys = [(np.flatnonzero(row)[:, None] * BLOCK + within).ravel() for row in seen]
    counts = np.repeat([len(each) for each in keys], BLOCK)
    indices = np.concatenate([np.tile(each, BLOCK) for each in keys])
    return single(Neighbours(np.append(0, np.cumsum(counts)), indices))


def _bird_blocks(blocks: int) -> Booleans:
    """A window of three blocks, the first and the last one global, and three at random."""
    rng, places = np.random.default_rng(blocks), np.arange(blocks)
    seen = np.abs(places[:, None] - places) <= 1
    seen[[0, -1]] = seen[:, [0, -1]] = True
    for row in seen[1:-1]:
        others = np.flatnonzero(~row)
        row[rng.choice(others, min(RANDOM_BLOCKS, len(others)), replace=False)] = True
    return seen


def _window_formula(tokens: int) -> Formula:
    return lambda i, j: ((i - j).abs() <= HALF_WIDTH) | (i < GLOBALS) | (j < GLOBALS)


def _bird_formula(tokens: int) -> Formula:
    seen = torch.from_numpy(_bird_blocks(tokens // BLOCK))
    return lambda i, j: seen[i // BLOCK, j // BLOCK]


def _star_formula(tokens: int) -> Formula:
    return lambda i, j: ((i - j).abs() <= 1) | ((i - j).abs() == tokens - 1) | (i == 0) | (j == 0)


def _strided_formula(tokens: int) -> Formula:
    stride = int(np.ceil(np.sqrt(tokens)))
    return lambda i, j: ((i - j).abs() <= stride) | ((i - j) % stride == 0)


WINDOW: Final = Case("window 128 + 4 global", Longformer(HALF_WIDTH, GLOBALS).at, _window_formula)
BIRD: Final = Case("BigBird blocks", _bird, _bird_formula)
STAR: Final = Case("star", Star().at, _star_formula)
RANDOM: Final = Case(f"random {RANDOM_KEYS}", Random(keys=RANDOM_KEYS).at)
STRIDED: Final = Case("strided", Strided(arrangement=Arrangement.UNION).at, _strided_formula, is_linear=False)
CASES: Final = (WINDOW, BIRD, STAR, RANDOM, STRIDED)
