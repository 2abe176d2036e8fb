"""Paper B's condition 2: an order γ of the tokens in which each sees the one before it in some layer."""

from collections.abc import Iterator

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.neighbours import Neighbours
from anyformer.patterns.universality.conditions import Answer, TokenPath
from anyformer.patterns.universality.connectivity import Components, incomparable_pair, weak_pieces
from anyformer.patterns.universality.cycle_patching import patched_path
from anyformer.patterns.universality.matching import matched_keys
from anyformer.patterns.universality.solver import NAME, Undecided, hamiltonian_path
from anyformer.patterns.universality.witnesses import Cut, Incomparable, Infeasible, Narrow

_LARGEST_CUT, _SINGLE_CUTS = 8, 256


def find_path(seen: Neighbours, parts: Components, known: Integers | None, seconds: float) -> TokenPath:
    """Known orders first, then patched cycles, small proofs that there is none, and the solver.

    Args:
        seen: which keys each query sees in any layer.
        parts: its components.
        known: an order to try, if there is one.
        seconds: for the solver.
    """
    for found_by, order in _candidates(seen.tokens, known):
        if is_path(seen, order):
            return TokenPath(Answer.HOLDS, tuple(order.tolist()), found_by)
    if (pair := incomparable_pair(parts)) is not None:
        return TokenPath(Answer.FAILS, witness=Incomparable(*pair))
    if (patched := patched_path(seen)) is not None:
        assert is_path(seen, patched), "patched cycles are no path: the patching is wrong"
        return TokenPath(Answer.HOLDS, tuple(patched.tolist()), "found by patching cycles")
    if (witness := _cut(seen) or _narrow(seen)) is not None:
        return TokenPath(Answer.FAILS, witness=witness)
    answer = hamiltonian_path(seen, seconds)
    if isinstance(answer, Undecided):
        return TokenPath(Answer.UNDECIDED, reason=answer.reason)
    if answer is None:
        return TokenPath(Answer.FAILS, witness=Infeasible(NAME))
    assert is_path(seen, answer), "the solver's order is no path: our model of it is wrong"
    return TokenPath(Answer.HOLDS, tuple(answer.tolist()), f"found by {NAME}")


def is_path(seen: Neighbours, order: Integers) -> bool:
    """Whether `order` holds every token once and each sees the one before it."""
    tokens = seen.tokens
    if order.shape != (tokens,) or not np.array_equal(np.sort(order), np.arange(tokens)):
        return False
    return bool(seen.sees(order[1:], order[:-1]).all())


def _candidates(tokens: int, known: Integers | None) -> Iterator[tuple[str, Integers]]:
    if known is not None:
        yield "known for this family", np.asarray(known, dtype=np.int64)
    yield "the tokens in order", np.arange(tokens)
    yield "the tokens in reverse order", np.arange(tokens)[::-1]


def _cut(seen: Neighbours) -> Cut | None:
    """Remove the tokens with most connections, then single tokens: a path without c tokens has at most c + 1 pieces."""
    busiest = np.argsort(-seen.degrees - np.bincount(seen.indices, minlength=seen.tokens), kind="stable")
    # There are at most n − c pieces, so that cuts of c ≥ n/2 − 1/2 tokens show nothing.
    largest = min(_LARGEST_CUT, (seen.tokens - 2) // 2)
    together = (busiest[:count] for count in range(1, largest + 1))
    alone = busiest[1 : _SINGLE_CUTS if largest > 0 else 1, None]
    for tokens in (*together, *alone):
        pieces = weak_pieces(seen, tokens)
        if pieces > len(tokens) + 1:
            return Cut(tuple(sorted(tokens.tolist())), pieces)
    return None


def _narrow(seen: Neighbours) -> Narrow | None:
    """On a path all tokens but the first are matched to the one before them; where two cannot be, Hall's set says why.

    That set grows from the unmatched queries: every key that one of them sees is matched (otherwise the matching would
    not be the largest), and the query it is matched to belongs to the set too.
    """
    before = matched_keys(seen)
    free = np.flatnonzero(before < 0)
    if len(free) < 2:
        return None
    after = {int(key): query for query, key in enumerate(before) if key >= 0}
    narrow, open_ends = set(free.tolist()), free.tolist()
    while open_ends:
        query = open_ends.pop()
        for key in seen.keys_of(query).tolist():
            if key != query and after[key] not in narrow:
                narrow.add(after[key])
                open_ends.append(after[key])
    keys = {key for query in narrow for key in seen.keys_of(query).tolist() if key != query}
    return Narrow(tuple(sorted(narrow)), tuple(sorted(keys)))
