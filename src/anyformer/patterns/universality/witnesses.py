"""Witnesses that a condition fails, small enough to be checked by hand; str() gives each as a sentence."""

from dataclasses import dataclass
from typing import TypeAlias, final


@final
@dataclass(frozen=True)
class MissingLoop:
    """A token that does not see itself."""

    layer: int
    head: int
    token: int

    def __str__(self) -> str:
        return f"token {self.token} does not see itself in layer {self.layer}, list {self.head}"


@final
@dataclass(frozen=True)
class NeverMeet:
    """An input that no number of layers carries to an output."""

    input: int
    output: int

    def __str__(self) -> str:
        return f"output {self.output} never depends on input {self.input}, whatever the number of layers"


@final
@dataclass(frozen=True)
class NeverTogether:
    """An input missing from an output's set after so many hops that the sets have begun to repeat."""

    input: int
    output: int
    hops: int

    def __str__(self) -> str:
        return (
            f"S^{self.hops} of output {self.output} lacks input {self.input}, when the sets repeat already:"
            " without self-loops not all are full at once"
        )


@final
@dataclass(frozen=True)
class Incomparable:
    """Two tokens neither of which ever learns from the other: no path visits both."""

    first: int
    second: int

    def __str__(self) -> str:
        return f"no path holds both token {self.first} and token {self.second}: neither ever learns from the other"


@final
@dataclass(frozen=True)
class Cut:
    """Tokens without which the rest falls into more pieces than a path, cut there, could."""

    tokens: tuple[int, ...]
    pieces: int

    def __str__(self) -> str:
        return (
            f"without {_few(self.tokens)} the rest falls into {self.pieces} pieces, and a path cut at"
            f" {len(self.tokens)} tokens leaves at most {len(self.tokens) + 1}"
        )


@final
@dataclass(frozen=True)
class Narrow:
    """Tokens that see too few others: on a path all but one have each another token before them that they see."""

    tokens: tuple[int, ...]
    seen: tuple[int, ...]

    def __str__(self) -> str:
        return (
            f"the {len(self.tokens)} tokens {_few(self.tokens)} see, besides themselves, only the"
            f" {len(self.seen)} tokens {_few(self.seen)}, and a path needs {len(self.tokens) - 1}"
        )


@final
@dataclass(frozen=True)
class Infeasible:
    """A solver's claim that there is no path."""

    solver: str

    def __str__(self) -> str:
        return f"{self.solver} proved that there is none"


PathWitness: TypeAlias = Incomparable | Cut | Narrow | Infeasible
ReachWitness: TypeAlias = NeverMeet | NeverTogether


def _few(tokens: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, tokens[:8]))
    return f"{{{shown}, …}}" if len(tokens) > 8 else f"{{{shown}}}"
