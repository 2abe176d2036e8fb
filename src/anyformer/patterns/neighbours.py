"""Which keys each query may look at in one head of one layer: a sorted list of keys per query, in CSR form."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import Booleans, Integers
from anyformer.errors import PatternError
from anyformer.patterns.sizes import whole_number
from anyformer.rebuilding import Rebuilt


@final
@dataclass(frozen=True, eq=False)
class Neighbours(Rebuilt):
    """Query k may look at the keys `indices[indptr[k]:indptr[k + 1]]`, sorted, each once.

    >>> Neighbours([0, 1, 3], [0, 0, 1]).keys_of(1).tolist()
    [0, 1]
    """

    indptr: Integers  # (tokens + 1,)
    indices: Integers  # (connections,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "indptr", _frozen("indptr", self.indptr))
        object.__setattr__(self, "indices", _frozen("indices", self.indices))
        _check(self.indptr, self.indices)

    @property
    def tokens(self) -> int:
        """The length of the sequences."""
        return len(self.indptr) - 1

    @property
    def connections(self) -> int:
        """How many pairs (query, key) there are."""
        return len(self.indices)

    @property
    def degrees(self) -> Integers:
        """How many keys every query sees, shape (tokens,)."""
        return np.diff(self.indptr)

    def keys_of(self, query: int) -> Integers:
        """What this query may look at."""
        return self.indices[self.indptr[query] : self.indptr[query + 1]]

    def queries(self) -> Integers:
        """The query of every entry of `indices`, shape (connections,)."""
        return np.repeat(np.arange(self.tokens), self.degrees)

    def sees(self, queries: Integers, keys: Integers) -> Booleans:
        """Whether `queries[i]` sees `keys[i]`, by bisection in the rows: no array of all connections is made.

        >>> Neighbours([0, 1, 3], [0, 0, 1]).sees([0, 1], [1, 1]).tolist()
        [False, True]
        """
        if not self.connections:
            return np.zeros(len(queries), dtype=np.bool_)
        low, end = self.indptr[queries], self.indptr[np.add(queries, 1)]
        high = end
        for _ in range(int(self.degrees.max()).bit_length()):
            middle = (low + high) // 2
            below = (self.indices.take(middle, mode="clip") < keys) & (middle < high)
            low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
        return np.asarray((low < end) & (self.indices.take(low, mode="clip") == keys))

    def loops(self) -> Booleans:
        """Which tokens see themselves, shape (tokens,)."""
        return self.sees(np.arange(self.tokens), np.arange(self.tokens))

    def transposed(self) -> "Neighbours":
        """Queries and keys exchanged: by which queries each key is seen."""
        order = np.argsort(self.indices, kind="stable")
        return Neighbours(_pointers(self.indices, self.tokens), self.queries()[order])

    def kept(self, keep: Booleans) -> "Neighbours":
        """Only the entries of `indices` where `keep`, shape (connections,), is true."""
        return Neighbours(_pointers(self.queries()[keep], self.tokens), self.indices[keep])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Neighbours):
            return NotImplemented
        return np.array_equal(self.indptr, other.indptr) and np.array_equal(self.indices, other.indices)

    def __hash__(self) -> int:
        return hash((self.tokens, self.connections))

    def __repr__(self) -> str:
        return f"Neighbours(tokens={self.tokens}, connections={self.connections})"


def from_pairs(tokens: int, queries: ArrayLike, keys: ArrayLike) -> Neighbours:
    """The list in which `queries[i]` may look at `keys[i]`, in any order, repeated or not.

    >>> from_pairs(2, [1, 0, 1], [0, 0, 0]).degrees.tolist()
    [1, 1]
    """
    rows, columns = _tokens("queries", queries, tokens), _tokens("keys", keys, tokens)
    if len(rows) != len(columns):
        raise PatternError(
            f"there must be one key for each query; got {len(rows)} queries and {len(columns)} keys."
            " Repeat a query for each of its keys."
        )
    return _from_codes(tokens, rows * tokens + columns)


def united(lists: Iterable[Neighbours]) -> Neighbours:
    """Each query sees what it sees in any of the lists."""
    return reduce(_or, lists)


def common(lists: Iterable[Neighbours]) -> Neighbours:
    """Each query sees what it sees in all of the lists."""
    return reduce(_and, lists)


def every_pair(tokens: int) -> Neighbours:
    """Every token sees every token."""
    keys = np.tile(np.arange(tokens, dtype=np.int64), tokens)
    keys.setflags(write=False)  # spares a copy
    return Neighbours(np.arange(tokens + 1, dtype=np.int64) * tokens, keys)


def each_once(values: Integers) -> Integers:
    """The values sorted, each once; several times as fast as np.unique, which hashes integers first."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _tokens(name: str, values: ArrayLike, tokens: int) -> Integers:
    """Numbers of tokens as int64, or PatternError: NumPy alone would cut 1.9 down to 1 and read "2" and True."""
    array = np.asarray(values).ravel()
    if not array.size:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind == "O":
        array = np.array([whole_number(f"one of the {name}", value, least=0) for value in array])
    if array.dtype.kind not in "iu":
        raise PatternError(
            f"{name} must be whole numbers; got {array.dtype}, such as {array.flat[0]!r}."
            " Convert them to integers yourself if they are."
        )
    if array.min() < 0 or array.max() >= tokens:
        bad = array[(array < 0) | (array >= tokens)][0]
        raise PatternError(f"{name} must be tokens 0 to {tokens - 1}; got {bad}. Count tokens from 0.")
    return array.astype(np.int64, copy=False)


def _or(one: Neighbours, other: Neighbours) -> Neighbours:
    # Often it is the same object twice: the layers of a pattern are repeated over a longer period.
    return one if one is other else _from_codes(one.tokens, np.concatenate([_codes(one), _codes(other)]))


def _and(one: Neighbours, other: Neighbours) -> Neighbours:
    return one if one is other else one.kept(np.isin(_codes(one), _codes(other), assume_unique=True))


def _codes(neighbours: Neighbours) -> Integers:
    return neighbours.queries() * neighbours.tokens + neighbours.indices


def _from_codes(tokens: int, codes: Integers) -> Neighbours:
    if not (codes[1:] > codes[:-1]).all():
        codes = each_once(codes)
    return Neighbours(_pointers(codes // tokens, tokens), codes % tokens)


def _pointers(rows: Integers, tokens: int) -> Integers:
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=tokens))])


def _frozen(name: str, values: ArrayLike) -> Integers:
    try:
        array = np.asarray(values)
    except ValueError as wrong:  # lists in lists of different lengths
        raise PatternError(f"{name} must be one axis of integers; {wrong}. Give CSR arrays.") from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise PatternError(
            f"{name} must be one axis of integers; got shape {array.shape} of {array.dtype}. Give CSR arrays."
        )
    # Only a writable array is copied: the array of `full` has n² entries.
    array = array.astype(np.int64, copy=array.flags.writeable)
    array.setflags(write=False)
    return array


def _check(indptr: Integers, indices: Integers) -> None:
    tokens = len(indptr) - 1
    if tokens < 1 or indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise PatternError(
            f"indptr must hold tokens + 1 numbers that rise from 0 to len(indices) = {len(indices)}; got"
            f" {len(indptr)} of them. Build the list with from_pairs."
        )
    if len(indices) and not (indices.min() >= 0 and indices.max() < tokens):
        raise PatternError(f"keys must be tokens 0 to {tokens - 1}; got {indices.min()} to {indices.max()}.")
    rising = indices[1:] > indices[:-1]
    starts = indptr[(indptr > 0) & (indptr < len(indices))]
    rising[starts - 1] = True  # keys need not rise from the last key of one query to the first of the next
    if not rising.all():
        query = int(np.searchsorted(indptr, int(np.argmin(rising)), side="right")) - 1
        raise PatternError(f"the keys of query {query} must rise, each once; got {_shown(indptr, indices, query)}.")


def _shown(indptr: Integers, indices: Integers, query: int) -> list[int]:
    return [int(key) for key in indices[indptr[query] : indptr[query + 1]][:20]]
