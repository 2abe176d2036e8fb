"""The smallest s of Paper B's condition 3, where every token sees itself in every layer.

With self-loops the sets S_k^t only grow, so s is the longest of all earliest arrivals. All sources advance together.
Two ways to take a hop, chosen by what it costs: *thin*, only the pairs reached since this layer was last used are
passed on to the tokens that see them (a window of 1 has few in each of its n − 1 hops); *thick*, bit sets of all
sources united over the neighbours (two hops of √n keys each reach all tokens).
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anyformer.arrays import Booleans, Integers
from anyformer.patterns.neighbours import Neighbours, each_once

_SOURCES_AT_ONCE = 2**24  # entries of the table of which token has heard of which source: 16 MB
_ROWS_AT_ONCE = 2**15  # gathered bit sets: 16 MB at 4,096 sources
# Measured: a thin hop takes about 40 ns a pair passed on; a thick one 0.2 ns a byte gathered and 1 ns an entry.
_THIN, _GATHERED, _ENTRY = 40.0, 0.2, 1.0


def smallest_hops(layers: Sequence[Neighbours], listeners: Integers | None = None) -> int:
    """The smallest s with S_k^s = all tokens for every k, or all those that ever reach it.

    Args:
        layers: what each of the cyclic layers can see; all with self-loops.
        listeners: how many tokens each token reaches in the end, itself included, shape (tokens,); all of them if it is
            not given, and then the union of the layers must be strongly connected.
    """
    tokens = layers[0].tokens
    steps = [_Layer(seen) for seen in layers]
    reached = _all_tokens(tokens) if listeners is None else listeners
    return max(_hops_from(some, steps, int(reached[some].sum())) for some in _chunks(tokens))


def hops_within(layers: Sequence[Neighbours], most: int, listeners: Integers | None = None) -> int | None:
    """The smallest s as above if it is at most `most`, otherwise None; any layers with self-loops will do.

    A few sources go first: where they do not get everywhere in time, the others need not be followed.
    """
    tokens = layers[0].tokens
    steps, reached = [_Layer(seen) for seen in layers], _all_tokens(tokens) if listeners is None else listeners
    hops = 0
    for some in (each_once(np.array([0, tokens // 2, tokens - 1])), *_chunks(tokens)):
        hops = max(hops, _hops_from(some, steps, int(reached[some].sum()), most))
        if hops > most:
            return None
    return hops


def _all_tokens(tokens: int) -> Integers:
    return np.full(tokens, tokens, dtype=np.int64)


def _chunks(tokens: int) -> list[Integers]:
    chunk = max(1, _SOURCES_AT_ONCE // tokens)
    return np.split(np.arange(tokens), range(chunk, tokens, chunk))


def expected_nanoseconds(layers: Sequence[Neighbours], hops: int) -> float:
    """About how long `smallest_hops` takes if s is at most `hops`: all its hops thin, or all of them thick.

    Every layer passes on every pair (token, source) once if all hops are thin.
    """
    tokens = layers[0].tokens
    thin = sum(_THIN * tokens * (seen.connections - tokens) for seen in layers)
    thick = [_GATHERED * _Layer(seen).gathered * tokens / 8 + _ENTRY * tokens**2 for seen in layers]
    return min(thin, hops / len(layers) * sum(thick))


@dataclass(frozen=True, eq=False)
class _Layer:
    seen: Neighbours

    @cached_property
    def seers(self) -> Neighbours:
        """For each token the other tokens that see it."""
        return self.seen.kept(self.seen.indices != self.seen.queries()).transposed()

    @cached_property
    def gathered(self) -> int:
        """The connections of the tokens that do not see all tokens; a thick hop gathers no others."""
        degrees = self.seen.degrees
        return int(degrees[degrees < self.seen.tokens].sum())

    @cached_property
    def told(self) -> Integers:
        """How many other tokens see each token, shape (tokens,)."""
        return np.bincount(self.seen.indices, minlength=self.seen.tokens) - 1


def _hops_from(sources: Integers, layers: Sequence[_Layer], pairs: int, most: float = math.inf) -> int:
    """After how many hops so many pairs have met, of one of these sources and a token that hears of it.

    Where it takes more than `most`, the answer is some larger number.
    """
    heard = np.zeros((layers[0].seen.tokens, len(sources)), dtype=np.bool_)
    heard[sources, np.arange(len(sources))] = True
    # What the layer at hand has not passed on yet is what came in since its last turn: the last `period` hops.
    news = deque([np.flatnonzero(heard)], maxlen=len(layers))
    missing, hops = pairs - len(sources), 0
    while (missing or not hops) and hops <= most:
        layer = layers[hops % len(layers)]
        fresh = _hop(heard, layer, np.concatenate(news))
        news.append(fresh)
        missing, hops = missing - len(fresh), hops + 1
    return hops


def _hop(heard: Booleans, layer: _Layer, news: Integers) -> Integers:
    """Pass one layer on, in place; returns the flat places of `heard` that are new."""
    sources = heard.shape[1]
    holders = news // sources
    passed_on = int(layer.told[holders].sum())
    thick = _GATHERED * layer.gathered * sources / 8 + _ENTRY * heard.size
    return _thin(heard, layer.seers, news, holders) if _THIN * passed_on < thick else _thick(heard, layer.seen)


def _thin(heard: Booleans, seers: Neighbours, news: Integers, holders: Integers) -> Integers:
    counts = seers.degrees[holders]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    receivers = seers.indices[np.repeat(seers.indptr[holders], counts) + within]
    places = receivers * heard.shape[1] + np.repeat(news % heard.shape[1], counts)
    flat = heard.reshape(-1)
    fresh = each_once(places[~flat[places]])
    flat[fresh] = True
    return fresh


def _thick(heard: Booleans, seen: Neighbours) -> Integers:
    bits = np.packbits(heard, axis=1)
    bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8))).view(np.uint64)
    united = np.empty_like(bits)
    united[seen.degrees == seen.tokens] = np.bitwise_or.reduce(bits, axis=0)
    for rows in _row_chunks(seen):
        start, stop = seen.indptr[rows[0]], seen.indptr[rows[-1] + 1]
        united[rows] = np.bitwise_or.reduceat(bits[seen.indices[start:stop]], seen.indptr[rows] - start, axis=0)
    after = np.unpackbits(united.view(np.uint8), axis=1, count=heard.shape[1]).view(np.bool_)
    fresh = np.flatnonzero(after & ~heard)
    heard[:] = after
    return fresh


def _row_chunks(seen: Neighbours) -> list[Integers]:
    """Runs of rows of about as many neighbours in all; rows that see all tokens are left out."""
    runs = np.split(np.arange(seen.tokens), np.flatnonzero(np.diff(seen.indptr[:-1] // _ROWS_AT_ONCE)) + 1)
    partial = (run[seen.degrees[run] < seen.tokens] for run in runs)
    split = (np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) for rows in partial)
    return [rows for pieces in split for rows in pieces if len(rows)]
