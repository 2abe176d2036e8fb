"""Keys drawn at random; the same seed gives the same keys."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from anyformer.errors import PatternError
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.neighbours import Neighbours, from_pairs
from anyformer.patterns.pattern import SparsityPattern, single
from anyformer.patterns.sizes import about_root, length, require_room, whole_number


@final
@dataclass(frozen=True)
class Random(PatternFamily):
    """Each token sees itself and `keys` random others, or ⌈density·n⌉ of them; ⌈√n⌉ if neither is given.

    >>> Random(keys=3).at(100).layer(0).connections
    400
    """

    density: float | None = None
    seed: int = 0
    keys: int | None = None

    def __post_init__(self) -> None:
        whole_number("seed", self.seed, least=0)
        if self.keys is not None:
            whole_number("keys", self.keys, least=0)
        if self.density is None:
            return
        if self.keys is not None:
            raise PatternError(
                f"either density or keys must be given, not both; got density={self.density!r} and keys={self.keys!r}."
                " Leave one out: keys is a number for every length, density a share of all tokens."
            )
        if isinstance(self.density, bool) or not isinstance(self.density, int | float) or not 0 <= self.density <= 1:
            raise PatternError(f"density must be between 0 and 1; got {self.density!r}. Give a share of all tokens.")

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        tokens = length(tokens)
        return single(random_keys(tokens, self._keys(tokens), self.seed))

    def _keys(self, tokens: int) -> int:
        if self.keys is not None:
            return self.keys
        return about_root(tokens) if self.density is None else math.ceil(self.density * tokens)


def random_keys(tokens: int, keys: int, seed: int) -> Neighbours:
    """Each token sees itself and `keys` distinct random others, or all others if there are fewer.

    Floyd's sampling without replacement, in all rows at once: among m others, for j = m − keys … m − 1 draw one of
    0 … j, and take j itself if it was drawn before.
    """
    others, rng = tokens - 1, np.random.default_rng([seed, tokens])
    keys = min(keys, others)
    require_room(tokens * (keys + 1))
    drawn = np.empty((tokens, keys), dtype=np.int64)
    for place, top in enumerate(range(others - keys, others)):
        draw = rng.integers(0, top + 1, size=tokens)
        drawn[:, place] = np.where((drawn[:, :place] == draw[:, None]).any(axis=1), top, draw)
    every = np.arange(tokens)
    drawn += drawn >= every[:, None]  # the others of token k are numbered past k
    return from_pairs(tokens, np.append(every, np.repeat(every, keys)), np.append(every, drawn))
