"""A pattern for every length."""

from abc import ABC, abstractmethod

import numpy as np

from anyformer.arrays import Integers
from anyformer.patterns.pattern import SparsityPattern


class PatternFamily(ABC):
    """A value that describes a pattern for every length; `at` builds it. Subclass it for your own.

    >>> import anyformer.patterns as patterns
    >>> class Backwards(patterns.PatternFamily):
    ...     def at(self, tokens):
    ...         return patterns.from_edges([(k, tokens - 1 - k) for k in range(tokens)], tokens)
    >>> patterns.check_pattern(Backwards())
    """

    @abstractmethod
    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length, the same at every call."""

    def path(self, tokens: int) -> Integers | None:
        """The paper's γ if one is known: γ(i+1) sees γ(i) in some layer. Callers check it before they use it."""
        return None

    def __or__(self, other: object) -> "PatternFamily":
        """The union of two families; a union of unions is one union of all their parts.

        >>> from anyformer.patterns import Ring, SlidingWindow, Star
        >>> Ring() | SlidingWindow(2) | Star()
        Union(parts=(Ring(), SlidingWindow(half_width=2), Star()))
        """
        from anyformer.patterns.families.combinators import Union

        if not isinstance(other, PatternFamily):
            return NotImplemented
        return Union(tuple(part for one in (self, other) for part in (one.parts if isinstance(one, Union) else (one,))))


def in_order(tokens: int) -> Integers:
    """The tokens from first to last: γ wherever every token sees the one before it."""
    return np.arange(tokens, dtype=np.int64)
