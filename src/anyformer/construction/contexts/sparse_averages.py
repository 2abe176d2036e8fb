"""Context ids by means over neighbourhoods, hop by hop, of codes whose radix is large enough to tell all inputs apart.

Token k gets the code Λ(c + B)·R^k, where Λ is the least common multiple of all neighbourhood sizes. Each layer adds g =
mΛ times the mean of what a token sees; after s layers every token holds a positive combination of all codes. R is the
smallest radix for which no two (input, token) pairs share a value, found by trying; docs/sparse.md proves that m, B and
R exist. All values are whole numbers. An R is skipped if some mean is not exact in the network's type.
"""

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from anyformer.arrays import Integers
from anyformer.construction.contexts.checked_pattern import pattern_of, repair_in_words, report_on
from anyformer.construction.contexts.context_map import first_coordinate
from anyformer.construction.grids.lattice import Lattice
from anyformer.construction.refusal import Fit, Refusal, Resource, Shortage
from anyformer.construction.request import Pattern, Request, pattern_at
from anyformer.construction.stages.codes import gather, recode
from anyformer.construction.stages.draft import Draft
from anyformer.errors import NoCodes, PlanError
from anyformer.networks.dtypes import FLOAT64, DType
from anyformer.networks.layers import AttentionStage
from anyformer.networks.probability_maps import Softmax
from anyformer.networks.roles import Role
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern

NAME = "sparse-averaging"
HEADS = 2
# What is tried: offsets B of the digits, gains g as multiples of Λ, and radices up to a multiple of the smallest one.
OFFSETS = (1, 2, 3, 5, 8, 13, 21)
MULTIPLES = (1, 2, 3)
RADICES = 12


@dataclass(frozen=True, eq=False)
class SparseAverages:
    """Recode, then s layers of g times the mean of the tokens in view."""

    pattern: SparsityPattern
    codes: Integers
    """What column c of token k becomes before the factor Λ, shape (tokens, columns)."""
    factor: int
    """Λ, which every neighbourhood's size divides."""
    multiple: int
    """The gain divided by the factor Λ."""
    hops: int
    width: int
    leaves_strays: bool = False

    @classmethod
    def on(cls, request: Request, lattice: Lattice) -> "SparseAverages":
        """The context map of a grid."""
        return _found(pattern_of(request), lattice.tokens, lattice.columns, lattice.width, request.dtype)

    @property
    def reading(self) -> tuple[int, ...]:
        """Ids stand in the first coordinate."""
        return first_coordinate(self.width)

    @property
    def largest_id(self) -> int:
        """Attained where all codes are largest: every weight is positive."""
        y = [int(row[-1]) for row in self.codes]
        for hop in range(self.hops):
            y = [
                own + sum(self._share(seen, k) * sum(y[j] for j in seen.keys_of(k)) for seen in self._lists(hop))
                for k, own in enumerate(y)
            ]
        return self.factor * max(y)

    @property
    def carry(self) -> float:
        """Not used: sparse networks have positions, and so no compact support."""
        return 1.0

    def farthest(self, top: float) -> float:
        """A mean is no larger than the largest token in view."""
        return 2 * top * len(self.codes)

    def _share(self, seen: Neighbours, token: int) -> int:
        """What a token gets from each token in view, both without the factor Λ: g/m of it."""
        return self.multiple * self.factor // len(seen.keys_of(token))

    def _lists(self, hop: int) -> tuple[Neighbours, ...]:
        return self.pattern.layers[hop % self.pattern.period]

    def ids(self, columns: Integers) -> Integers:
        """Ids of sequences of columns, shape (sequences, tokens)."""
        y = self.codes[np.arange(len(self.codes)), columns]
        for hop in range(self.hops):
            y = self._after(hop, y)
        return self.factor * y

    def _after(self, hop: int, y: Integers) -> Integers:
        gained = [
            np.stack([self._share(seen, k) * y[:, seen.keys_of(k)].sum(axis=1) for k in range(seen.tokens)], axis=1)
            for seen in self._lists(hop)
        ]
        return np.asarray(y + sum(gained))

    def is_exact(self, columns: Integers, dtype: DType = FLOAT64) -> bool:
        """Whether this type computes every mean of every sequence exactly, although 1/m need not be a float."""
        y = self.codes[np.arange(len(self.codes)), columns]
        for hop in range(self.hops):
            z = (self.factor * y).astype(np.float64)
            for size in {int(size) for seen in self._lists(hop) for size in seen.degrees}:
                share = dtype.rounded(np.array(1.0 / size))
                if not np.array_equal(dtype.rounded(z * share), (self.factor // size * y).astype(np.float64)):
                    return False
            y = self._after(hop, y)
        return True

    def stages(self, lattice: Lattice, slots: int) -> list[Draft]:
        """Gather, recode, average hop by hop."""
        return [*gather(lattice), *recode(lattice, self.factor * self.codes.ravel(), slots), self._averages(lattice)]

    def _averages(self, lattice: Lattice) -> Draft:
        zeros = np.zeros((self.hops, HEADS, 1, lattice.width))
        W_V, W_O = zeros.copy(), np.zeros((self.hops, HEADS, lattice.width, 1))
        for hop in range(self.hops):
            heads = slice(0, len(self._lists(hop)))
            W_V[hop, heads, 0, 0], W_O[hop, heads, 0, 0] = 1.0, self.multiple * self.factor
        b_Q = np.zeros((self.hops, HEADS, 1))
        return Draft(AttentionStage("average neighbours", zeros, b_Q, zeros, W_V, W_O, Softmax(), Role.CONTEXT_ID), 1.0)


@lru_cache(maxsize=64)
def hops_of(pattern: Pattern, tokens: int) -> int:
    """How many layers until every token depends on every input. The residual keeps a token: it needs no self-loop."""
    at = pattern_at(pattern, tokens)
    if any(len(layer) > HEADS for layer in at.layers):
        raise _refused(
            f"it has {HEADS} heads, and the pattern has layers with more lists of keys than that",
            f"a pattern with at most {HEADS} lists a layer",
        )
    known = np.eye(tokens, dtype=bool)
    for hop in range(at.period * tokens):
        if known.all():
            return hop
        seen = at.layer(hop)
        known = known | np.stack([known[seen.keys_of(k)].any(axis=0) for k in range(tokens)])
    if known.all():
        return at.period * tokens
    report = report_on(pattern, tokens)
    raise _refused(
        f"every output must come to depend on every input, and in {report.pattern} {report.never_meet}",
        repair_in_words(report, report.repair_without_path),
    )


@lru_cache(maxsize=64)
def _found(pattern: Pattern, tokens: int, columns: int, width: int, dtype: DType) -> SparseAverages:
    """The smallest radix, for the smallest offset that has one, that keeps all (input, token) pairs apart."""
    at, hops = pattern_at(pattern, tokens), hops_of(pattern, tokens)
    factor = math.lcm(*(int(size) for seen in at.lists() for size in seen.degrees if size))
    sequences = _all_columns(tokens, columns)
    for offset, multiple in itertools.product(OFFSETS, MULTIPLES):
        least = (columns - 1 + offset) // offset + 1
        for radix in range(least, RADICES * least + tokens):
            found = SparseAverages(at, _codes(radix, offset, tokens, columns), factor, multiple, hops, width)
            if found.largest_id.bit_length() > dtype.bits:
                break
            if _are_apart(found.ids(sequences)) and found.is_exact(sequences, dtype):
                return found
    raise NoCodes(
        f"no codes were found that keep all {tokens * columns**tokens:,} pairs of input and token apart within "
        f"{dtype.bits} bits, with {columns} columns, {tokens} tokens and {hops} hops",
    )


def _refused(detail: str, repair: str) -> PlanError:
    return Refusal(NAME, Shortage(Resource.PATTERN, detail=detail), Fit(repair=repair)).error()


def _codes(radix: int, offset: int, tokens: int, columns: int) -> Integers:
    """(c + B)·R^k by token and column; as Python's whole numbers where they are too long for others."""
    codes = [[(c + offset) * radix**k for c in range(columns)] for k in range(tokens)]
    return np.array(codes, dtype=np.int64 if codes[-1][-1] < 2**FLOAT64.bits else object)


def _all_columns(tokens: int, columns: int) -> Integers:
    return np.stack(np.unravel_index(np.arange(columns**tokens), (columns,) * tokens), axis=1).astype(np.int64)


def _are_apart(ids: Integers) -> bool:
    ordered = np.sort(ids, axis=None)
    return bool((ordered[1:] != ordered[:-1]).all())
