"""Causal patterns, in which no token sees a later one, as in language models: they get a verdict of their own.

No output can depend on a later input, so no such pattern is universal among all functions. The question is whether it
is universal among the *causal* functions, whose output k depends on the inputs 0 … k alone. Averaging answers it
(docs/sparse.md): it is, if every output comes to depend on every earlier input and no list of keys is empty.

The first is easy to see. Something flows from token k − 1 to token k only by tokens between them, and there are none:
so token k must see token k − 1 in some layer. If every token does, everything flows along the tokens in order.
"""

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.neighbours import Neighbours, from_pairs, united
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.universality.conditions import Answer, Reach
from anyformer.patterns.universality.reach import smallest_hops
from anyformer.patterns.universality.repair import Repair
from anyformer.patterns.universality.witnesses import MissingLoop, NeverMeet

EXACT_TOKENS = 4096  # as for condition 3


def is_causal(pattern: SparsityPattern) -> bool:
    """Whether no token sees a later one in any list, and some token sees an earlier one.

    Where tokens see only themselves there is no direction to keep.
    """
    ahead = [one.indices - one.queries() for one in pattern.lists()]
    return all((each <= 0).all() for each in ahead) and any((each < 0).any() for each in ahead)


def causal_reach(pattern: SparsityPattern) -> Reach:
    """After how many layers every output depends on every earlier input; a token keeps its own value."""
    cut_off = _cut_off(pattern.union)
    if len(cut_off):
        return Reach(Answer.FAILS, witness=NeverMeet(int(cut_off[0]) - 1, int(cut_off[0])))
    tokens = pattern.tokens
    if tokens > EXACT_TOKENS:
        reason = f"the smallest s is worked out up to {EXACT_TOKENS:,} tokens"
        return Reach(Answer.HOLDS, None, pattern.period * (tokens - 1), reason=reason)
    hops = smallest_hops([_with_residual(seen) for seen in pattern.seen], tokens - np.arange(tokens))
    return Reach(Answer.HOLDS, hops, hops)


def causal_repair(pattern: SparsityPattern) -> Repair:
    """The token before each one where it is never seen, and a self-loop where a list has no key; it stays causal.

    All these arcs are needed, and so is a key in every empty list. An arc fills the empty list that it is added to.
    """
    cut_off = _cut_off(pattern.union)
    empty = [
        MissingLoop(layer, head, int(token))
        for layer, lists in enumerate(pattern.layers)
        for head, one in enumerate(lists)
        for token in np.flatnonzero(one.degrees == 0)
    ]
    arcs, cut = tuple((token, token - 1) for token in cut_off.tolist()), set(cut_off.tolist())
    loops = tuple(loop for loop in empty if (loop.layer, loop.head) != (0, 0) or loop.token not in cut)
    needed = np.maximum(np.bincount(cut_off, minlength=pattern.tokens), _counts(empty, pattern.tokens)).sum()
    return Repair(loops, arcs, proved_smallest=len(loops) + len(arcs) == int(needed))


def _cut_off(seen: Neighbours) -> Integers:
    """The tokens that see the one before them in no layer."""
    later = np.arange(1, seen.tokens)
    return later[~seen.sees(later, later - 1)]


def _with_residual(seen: Neighbours) -> Neighbours:
    every = np.arange(seen.tokens)
    return seen if seen.loops().all() else united([seen, from_pairs(seen.tokens, every, every)])


def _counts(loops: list[MissingLoop], tokens: int) -> Integers:
    return np.bincount(np.array([loop.token for loop in loops], dtype=np.int64), minlength=tokens)
