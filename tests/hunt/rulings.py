"""What comes of a case, and the cases of a family."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Ruling(enum.Enum):
    """What the checker said, or what was found out about it."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    REFUSED = "refused"
    FALSE = "false"
    """Proved, and wrong; or refuted, and right."""
    CRASH = "crash"
    """An exception that is no AnyformerError."""
    HANG = "hang"
    GREEDY = "greedy"
    """More memory than the family may use."""


FAULTS = (Ruling.FALSE, Ruling.CRASH, Ruling.HANG, Ruling.GREEDY)


@dataclass(frozen=True)
class Outcome:
    """A ruling and why."""

    ruling: Ruling
    reason: str = ""


class Case(Protocol):
    """Something to put before the checker."""

    description: str

    def judge(self) -> Outcome:
        """Ask the checker, and compare what it says with the truth."""
        ...


@dataclass(frozen=True)
class Family:
    """Cases of one kind, each made from a generator of random numbers; and what judging one of them may cost."""

    make: Callable[[np.random.Generator], Case]
    seconds: float = 300.0
    megabytes: int = 1500
    prepare: Callable[[], object] = lambda: None


def generator(family: str, seed: int) -> np.random.Generator:
    """The random numbers of one case."""
    return np.random.default_rng([seed, *family.encode()])
