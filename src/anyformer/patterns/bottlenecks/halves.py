"""Halves of the tokens between which messages are to cross."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from anyformer.arrays import Array, Integers
from anyformer.patterns.exchange.arrays import csr
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.universality.causality import is_causal

EVERY_HALF_TOKENS: Final = 12  # up to here all halves are tried: 924 of them


@final
@dataclass(frozen=True)
class Half:
    """The tokens that send; all others receive. As many send as receive, or one more or less at odd lengths."""

    name: str
    tokens: int
    sources: tuple[int, ...]

    @property
    def targets(self) -> tuple[int, ...]:
        """The tokens that receive."""
        sending = set(self.sources)
        return tuple(token for token in range(self.tokens) if token not in sending)

    def __str__(self) -> str:
        return self.name


def halves_of(pattern: SparsityPattern, layers: int) -> list[Half]:
    """All halves of a short pattern; of a longer one those that are worth trying.

    These are halves of orders: the first half of the tokens; stripes of 1, 2, 4, … tokens; tokens that see each other
    close together (reverse Cuthill–McKee); those with the fewest routes out first; those with the most routes in first.
    Each of them sends to the other half, and the other way round. In a causal pattern nothing flows to earlier tokens,
    so that only those halves count from which full causal attention carries as much as there is room for.
    """
    tokens = pattern.tokens
    halves = _every_half(tokens) if tokens <= EVERY_HALF_TOKENS else natural_halves(pattern, layers)
    causal = is_causal(pattern)
    return [half for half in halves if not causal or _flows_forwards(half)]


def _every_half(tokens: int) -> Iterator[Half]:
    for count in sorted({tokens // 2, tokens - tokens // 2}):
        for sources in itertools.combinations(range(tokens), count):
            yield Half(f"tokens {shown_tokens(sources)} → the others", tokens, sources)


def natural_halves(pattern: SparsityPattern, layers: int) -> Iterator[Half]:
    """Halves that are narrow in some patterns: neighbours, stripes, clusters, and tokens that are hard to reach."""
    tokens = pattern.tokens
    every = np.arange(tokens)
    yield from _both_ways("first half", "second half", every)
    for width in (2**power for power in range((tokens // 2).bit_length()) if 2**power < tokens // 2):
        even, odd = (f"{which} stripes of {width}" for which in ("even", "odd"))
        yield from _both_ways(even, odd, np.argsort(every // width % 2, kind="stable"))
    yield from _both_ways("near half", "far half (by reverse Cuthill–McKee)", _near_first(pattern.union))
    steps = [pattern.layer(depth) for depth in range(layers)]
    into = _routes(steps)
    out = _routes([seen.transposed() for seen in reversed(steps)])
    yield from _both_ways("fewest routes out", "most routes out", np.argsort(out, kind="stable"))
    yield from _both_ways("most routes in", "fewest routes in", np.argsort(-into, kind="stable"))


def _both_ways(one: str, other: str, order: Integers) -> Iterator[Half]:
    tokens = len(order)
    first, rest = (tuple(sorted(part.tolist())) for part in np.split(order, [tokens // 2]))
    yield Half(f"{one} → {other}", tokens, first)
    yield Half(f"{other} → {one}", tokens, rest)


def _near_first(seen: Neighbours) -> Integers:
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    matrix = csr(seen)
    return np.asarray(reverse_cuthill_mckee((matrix + matrix.T).tocsr(), symmetric_mode=True), dtype=np.int64)


def _routes(steps: Sequence[Neighbours]) -> Array:
    """How many routes lead to each token, shape (tokens,), as a share of the largest number."""
    count = np.ones(steps[0].tokens)
    for seen in steps:
        count = count + np.bincount(seen.queries(), count[seen.indices], minlength=seen.tokens)
        count = count / count.max()
    return count


def _flows_forwards(half: Half) -> bool:
    """Whether ⌊n/2⌋ targets have a source of their own at or before them; greedily, which is best on a line."""
    sending, waiting, matched = set(half.sources), 0, 0
    for token in range(half.tokens):
        if token in sending:
            waiting += 1
        elif waiting:
            waiting, matched = waiting - 1, matched + 1
    return matched == half.tokens // 2


def shown_tokens(tokens: tuple[int, ...], most: int = 8) -> str:
    """Sorted tokens in runs, the first so many runs of them.

    >>> shown_tokens((0, 1, 2, 5, 7, 8))
    '0–2, 5, 7, 8'
    """
    runs = [list(run) for _, run in itertools.groupby(enumerate(tokens), key=lambda each: each[1] - each[0])]
    ends = [(run[0][1], run[-1][1]) for run in runs]
    shown = [
        str(first) if first == last else f"{first}, {last}" if last == first + 1 else f"{first}–{last}"
        for first, last in ends[:most]
    ]
    return ", ".join([*shown, *["…"] * (len(ends) > most)])
