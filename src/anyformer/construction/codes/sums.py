"""Codes for averaging: their sums never collide, and a multiplier keeps the tokens of a sequence apart.

Token j gets id_j = f·g_j + K·S with g_j its code and S the sum of all codes. Uniform attention returns means, so f =
n unless n is a power of two. For most n, n·g/n is then exact in float64 although 1/n is not (docs/averaging.md says
which); for the others, from n = 49 on, ids are off by a few ulps, which the proof takes into account.
"""

from dataclasses import dataclass, replace

import numpy as np

from anyformer.arrays import Integers
from anyformer.construction.codes.multipliers import multiset_multiplier, positional_codes, positional_multiplier
from anyformer.construction.codes.sidon import collision_free_codes
from anyformer.construction.grids.lattice import Lattice


@dataclass(frozen=True, eq=False)
class SumCodes:
    """How ids are made: codes by slot and column, shape (slots, columns), the factor f and the multiplier K."""

    codes: Integers
    factor: int
    multiplier: int
    tokens: int

    @property
    def largest_id(self) -> int:
        """No id is larger."""
        tops = self.codes[:, -1]
        total = int(tops.sum()) if len(tops) > 1 else self.tokens * int(tops[0])
        return self.factor * int(tops.max()) + self.multiplier * total

    @property
    def attention_gain(self) -> int:
        """W_O: what turns the mean of f·g into K·S."""
        return self.multiplier * self.tokens // self.factor

    def ids(self, columns: Integers) -> Integers:
        """Ids of sequences of columns, shape (sequences, tokens)."""
        g = self.codes[np.arange(self.tokens) % len(self.codes), columns]
        return np.asarray(self.factor * g + self.multiplier * g.sum(axis=1, keepdims=True))


def sum_codes(lattice: Lattice) -> SumCodes:
    """Codes and multiplier for a grid; the same grid always gives the same codes.

    With a support, no id may be 0: tokens of sequences outside the support stand at 0.
    """
    made = _sum_codes(lattice.columns, lattice.tokens, lattice.has_positions)
    return replace(made, codes=made.codes + 1) if lattice.is_guarded else made


def _sum_codes(columns: int, tokens: int, has_positions: bool) -> SumCodes:
    key = (columns, tokens, has_positions)
    if key not in _KNOWN:
        factor = 1 if tokens & (tokens - 1) == 0 else tokens
        if has_positions:
            codes = positional_codes(columns, tokens)
            multiplier = positional_multiplier(codes, factor)
        else:
            codes = collision_free_codes(columns, tokens)[None, :]
            multiplier = multiset_multiplier(codes[0], tokens, factor)
        _KNOWN[key] = SumCodes(codes, factor, multiplier, tokens)
    return _KNOWN[key]


# Planning needs the same few grids again and again.
_KNOWN: dict[tuple[int, int, bool], SumCodes] = {}
