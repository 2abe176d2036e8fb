"""Close pairs as text: two tokens in their contexts, and which pieces around them are the same."""

from typing import Final

from anyformer.contextuality.closest import Closest, Pair
from anyformer.contextuality.report import LayerContexts, Side, Witness
from anyformer.contextuality.sequences import Sequences

AROUND: Final = 16
"""Tokens that are shown on each side."""
KINDS: Final = ("same_token", "any_tokens", "within")


def witnesses_of(layer: LayerContexts, sequences: Sequences) -> tuple[Witness, ...]:
    """The closest pairs of every kind, as text."""
    found: list[Witness] = []
    for kind in KINDS:
        closest: Closest = getattr(layer, kind)
        found += [_witness(kind, pair, sequences) for pair in closest.pairs]
    return tuple(found)


def _witness(kind: str, pair: Pair, sequences: Sequences) -> Witness:
    first, second = (sequences.pieces(place[0]) for place in (pair.first, pair.second))
    at, other_at = pair.first[1], pair.second[1]
    sides = _side(first, at, second, other_at), _side(second, other_at, first, at)
    return Witness(kind, pair.distance, (pair.first, pair.second), sides)


def _side(pieces: list[str], at: int, others: list[str], other_at: int) -> Side:
    def marked(position: int) -> tuple[str, bool]:
        opposite = position - at + other_at
        same = 0 <= opposite < len(others) and others[opposite].strip().lower() == pieces[position].strip().lower()
        return pieces[position], same

    return Side(
        tuple(marked(k) for k in range(max(0, at - AROUND), at)),
        pieces[at],
        tuple(marked(k) for k in range(at + 1, min(len(pieces), at + 1 + AROUND))),
    )
