"""γ by patching cycles (after Karp, 1979): quick where tokens see many others; where it is stuck, that means nothing.

One more token is added that sees all and is seen by all: γ is a cycle through all tokens and this one, cut there. A
perfect matching of every token to the one before it is a set of cycles that together visit every token once. Two
cycles become one where two of their tokens can exchange what is before them: a → q on one and k → d on the other
become k → q and a → d, if q sees k and d sees a. Small cycles are patched first; they have the fewest places for it.

Where tokens see few others, a small cycle often has no such place. Then several tokens exchange what is before them: q
takes k, the token d after k takes another key, and so on until one of them sees a. Such an exchange may also leave as
many cycles or more, so each is tried, and kept if there are fewer cycles then, or small ones have grown.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.neighbours import Neighbours, from_pairs
from anyformer.patterns.universality.matching import matched_keys

_TRIES = 4  # matchings that are tried, each of the tokens in another order
_ROUNDS = 32  # over the cycles of one matching
_LONGEST = 6  # tokens that take another key before the circle of an exchange is closed
_MOST_CHAINS, _MOST_TRIED = 2**15, 24  # chains that are followed, and closed ones that are tried, of each length
_SMALLEST = 4  # cycles from which chains are followed; where all of these are stuck, the others hardly help


def patched_path(seen: Neighbours) -> Integers | None:
    """All tokens in an order in which each sees the one before, or None if none was found.

    Args:
        seen: which keys each query sees; self-loops do not matter.
    """
    joined, rng = _with_one_more(seen), np.random.default_rng(seen.tokens)
    for attempt in range(_TRIES):
        order = rng.permutation(joined.tokens) if attempt else np.arange(joined.tokens)
        before = matched_keys(_renumbered(joined, order))
        if (before < 0).any():
            return None  # no matching is perfect, whatever the order
        original = np.empty_like(before)
        original[order] = order[before]
        cycles = _Cycles.along(joined, original)
        while not cycles.patch():
            better = cycles.exchanged()
            if better is None:
                break
            cycles = better
        if len(cycles.members) == 1:
            return cycles.round_from(seen.tokens)
    return None


@dataclass(eq=False)
class _Cycles:
    """Cycles through all tokens, which change as they are patched."""

    seen: Neighbours
    before: Integers  # (tokens,)
    after: Integers  # (tokens,)
    labels: Integers  # (tokens,): the cycle of every token
    members: dict[int, Integers]

    @classmethod
    def along(cls, seen: Neighbours, before: Integers) -> "_Cycles":
        """The cycles of a permutation."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        tokens = len(before)
        arcs = csr_array((np.ones(tokens), (np.arange(tokens), before)), shape=(tokens, tokens))
        count, labels = connected_components(arcs, directed=False)
        by_label = np.argsort(labels, kind="stable")
        pieces = np.split(by_label, np.cumsum(np.bincount(labels, minlength=count))[:-1])
        return cls(seen, before, np.argsort(before), labels.astype(np.int64), dict(enumerate(pieces)))

    def patch(self) -> bool:
        """Join cycles while any two can be joined; whether one is left."""
        for _ in range(_ROUNDS):
            left = len(self.members)
            for label in sorted(self.members, key=lambda label: len(self.members[label])):
                if len(self.members) > 1:
                    self._join(label)
            if len(self.members) in (1, left):
                break
        return len(self.members) == 1

    def _join(self, label: int) -> None:
        """Join this cycle to another, if that can be done."""
        queries, keys = _rows(self.seen, self.members[label])
        other = self.labels[keys] != label
        queries, keys = queries[other], keys[other]
        fits = self.seen.sees(self.after[keys], self.before[queries])
        if not fits.any():
            return
        place = int(np.argmax(fits))
        q, k = int(queries[place]), int(keys[place])
        a, d = int(self.before[q]), int(self.after[k])
        self.before[q], self.after[k], self.before[d], self.after[a] = k, q, a, d
        larger = int(self.labels[k])
        joined = self.members.pop(label)
        self.labels[joined] = larger
        self.members[larger] = np.concatenate([self.members[larger], joined])

    def exchanged(self) -> "_Cycles | None":
        """Fewer cycles, or larger small ones, by an exchange between several tokens; None if none is found."""
        for label in sorted(self.members, key=lambda label: len(self.members[label]))[:_SMALLEST]:
            for start, chain in self._chains(label):
                changed = _Cycles.along(self.seen, self._after_exchange(start, chain))
                if changed.rank() < self.rank():
                    return changed
        return None

    def rank(self) -> tuple[int, list[int]]:
        """Fewer cycles come first, then those of which the smallest are larger."""
        return len(self.members), [-size for size in sorted(map(len, self.members.values()))]

    def _chains(self, label: int) -> Iterator[tuple[int, list[int]]]:
        """Tokens q of this cycle, each with keys k₁, k₂, …: q takes k₁, the token after k₁ takes k₂, and so on.

        The token after the last key sees what was before q, which closes the circle.
        """
        starts = self.members[label][:_MOST_CHAINS]
        taker, chains = starts, np.empty((len(starts), 0), dtype=np.int64)
        for _ in range(_LONGEST):
            queries, keys = _rows(self.seen, taker)
            chain = np.repeat(np.arange(len(taker)), self.seen.degrees[taker])
            ends = self.before[starts[chain]]
            # A token takes neither itself nor what it had, and each key is taken once.
            fresh = (keys != queries) & (keys != self.before[queries]) & (keys != ends)
            fresh &= (chains[chain] != keys[:, None]).all(axis=1)
            chain, keys, ends = _at_most(_MOST_CHAINS, chain[fresh], keys[fresh], ends[fresh])
            starts, chains, taker = starts[chain], np.column_stack([chains[chain], keys]), self.after[keys]
            closed = np.flatnonzero(self.seen.sees(taker, ends) & (taker != ends))
            for place in closed[:_MOST_TRIED]:
                yield int(starts[place]), chains[place].tolist()
            goes_on = taker != self.seen.tokens - 1  # the added token would lead everywhere
            starts, chains, taker = starts[goes_on], chains[goes_on], taker[goes_on]

    def _after_exchange(self, start: int, chain: list[int]) -> Integers:
        """What is before each token then."""
        before, taker = self.before.copy(), start
        for key in chain:
            before[taker], taker = key, int(self.after[key])
        before[taker] = self.before[start]
        return before

    def round_from(self, token: int) -> Integers:
        """The cycle from the one after this token up to it, without it."""
        following, found = self.after.tolist(), list[int]()
        place = following[token]
        while place != token:
            found.append(place)
            place = following[place]
        return np.array(found, dtype=np.int64)


def _with_one_more(seen: Neighbours) -> Neighbours:
    """With a token at the end that sees all and is seen by all."""
    added, every = seen.tokens, np.arange(seen.tokens)
    queries = np.concatenate([seen.queries(), every, np.full(added, added)])
    keys = np.concatenate([seen.indices, np.full(added, added), every])
    return from_pairs(added + 1, queries, keys)


def _renumbered(seen: Neighbours, order: Integers) -> Neighbours:
    """Token order[k] as token k."""
    number = np.argsort(order)
    return from_pairs(seen.tokens, number[seen.queries()], number[seen.indices])


def _at_most(count: int, *arrays: Integers) -> list[Integers]:
    """Every so-manieth entry of arrays of one length, so that at most `count` are left."""
    step = -(-len(arrays[0]) // count) or 1
    return [array[::step] for array in arrays]


def _rows(seen: Neighbours, tokens: Integers) -> tuple[Integers, Integers]:
    """All pairs (query, key) of these queries."""
    counts = seen.degrees[tokens]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(tokens, counts), seen.indices[np.repeat(seen.indptr[tokens], counts) + within]
