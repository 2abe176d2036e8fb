"""The checker's answer to each condition of Paper B's Assumption 1."""

import enum
from dataclasses import dataclass
from typing import final

from anyformer.patterns.universality.witnesses import MissingLoop, PathWitness, ReachWitness


class Answer(enum.Enum):
    """Whether a condition holds. Only HOLDS counts as yes."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@final
@dataclass(frozen=True)
class SelfLoops:
    """Condition 1: every token sees itself in every layer, and in every list of a layer that has several."""

    answer: Answer
    missing: tuple[MissingLoop, ...] = ()

    def __str__(self) -> str:
        return f"fails: {self.missing[0]} ({len(self.missing)} in all)" if self.missing else "holds"


@final
@dataclass(frozen=True)
class TokenPath:
    """Condition 2: a permutation γ in which γ(i+1) sees γ(i) in some layer.

    `gamma` was checked arc by arc wherever it came from; `reason` says why an answer is undecided.
    """

    answer: Answer
    gamma: tuple[int, ...] | None = None
    found_by: str | None = None
    witness: PathWitness | None = None
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.answer.value}: {self.found_by or self.witness or self.reason}"


@final
@dataclass(frozen=True)
class Reach:
    """Condition 3: after s layers every token has seen all; `hops` is the smallest s, or it is between two bounds."""

    answer: Answer
    hops: int | None = None
    at_most: int | None = None
    witness: ReachWitness | None = None
    reason: str | None = None
    at_least: int | None = None

    def __str__(self) -> str:
        if self.answer is not Answer.HOLDS:
            return f"{self.answer.value}: {self.witness or self.reason}"
        between = f"{self.at_least} ≤ s ≤ {self.at_most}; {self.reason}"
        return f"holds: s = {self.hops}" if self.hops else f"holds: {between}"


@final
@dataclass(frozen=True)
class Relay:
    """A star within one list of one layer: all see themselves and the token, and the token sees all."""

    layer: int
    head: int
    token: int

    def __str__(self) -> str:
        return f"token {self.token} sees all and is seen by all in layer {self.layer}, list {self.head}"
