"""Families made of families."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from anyformer.arrays import Integers
from anyformer.errors import PatternError
from anyformer.patterns import arrangement
from anyformer.patterns.families.family import PatternFamily, in_order
from anyformer.patterns.pattern import SparsityPattern


@dataclass(frozen=True)
class _Several(PatternFamily):
    """Shared by the combinations: one or more parts. A path of a part whose arcs are kept is a path of the whole."""

    parts: tuple[PatternFamily, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts or not all(isinstance(part, PatternFamily) for part in self.parts):
            raise PatternError(
                f"the parts must be one or more pattern families; got {self.parts!r}."
                " Patterns of one length are combined by the functions in anyformer.patterns.arrangement."
            )

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        return self._combine([part.at(tokens) for part in self.parts])

    def path(self, tokens: int) -> Integers | None:
        """The path of the first part that has one."""
        return next((path for part in self.parts if (path := part.path(tokens)) is not None), None)

    @abstractmethod
    def _combine(self, parts: list[SparsityPattern]) -> SparsityPattern: ...


@final
@dataclass(frozen=True)
class Union(_Several):
    """Every head sees what it sees in any of the parts: the paper's UNION."""

    def _combine(self, parts: list[SparsityPattern]) -> SparsityPattern:
        return arrangement.union(parts)


@final
@dataclass(frozen=True)
class Sequential(_Several):
    """The parts take turns over the layers: the paper's SEQUENTIAL."""

    def _combine(self, parts: list[SparsityPattern]) -> SparsityPattern:
        return arrangement.sequential(parts)


@final
@dataclass(frozen=True)
class Multihead(_Several):
    """The parts share out the heads of every layer: the paper's MULTIHEAD."""

    def _combine(self, parts: list[SparsityPattern]) -> SparsityPattern:
        return arrangement.multihead(parts)


@final
@dataclass(frozen=True)
class Intersection(_Several):
    """Every head sees what it sees in all of the parts."""

    def path(self, tokens: int) -> None:
        """None: an arc of one part may be missing in another."""

    def _combine(self, parts: list[SparsityPattern]) -> SparsityPattern:
        return arrangement.intersection(parts)


@final
@dataclass(frozen=True)
class Causal(PatternFamily):
    """The pattern restricted to keys j ≤ k: no token sees a later one."""

    of: PatternFamily

    def __post_init__(self) -> None:
        if not isinstance(self.of, PatternFamily):
            raise PatternError(f"a causal pattern must be of a family; got {self.of!r}. See causal() for one length.")

    def at(self, tokens: int) -> SparsityPattern:
        """The pattern of sequences of this length."""
        return causal(self.of.at(tokens))

    def path(self, tokens: int) -> Integers | None:
        """The tokens in order, if that is the path of the whole; no other is possible if no token sees a later one."""
        path = self.of.path(tokens)
        return path if path is not None and np.array_equal(path, in_order(tokens)) else None


def causal(pattern: SparsityPattern) -> SparsityPattern:
    """A pattern of one length in which no token sees a later one."""
    return SparsityPattern(
        tuple(tuple(one.kept(np.asarray(one.indices <= one.queries())) for one in layer) for layer in pattern.layers)
    )
