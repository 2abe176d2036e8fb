"""Random NumPy programs on intervals, as one more family: see `tests.intervals.random_programs`."""

from dataclasses import dataclass

import numpy as np

from tests.hunt.rulings import Outcome, Ruling
from tests.intervals.random_programs import Kind, check_program

RULINGS = {
    Kind.HELD: Ruling.PROVED,
    Kind.UNKNOWN: Ruling.UNDECIDED,
    Kind.REFUSED: Ruling.REFUSED,
    Kind.MISSED: Ruling.FALSE,
}


@dataclass(frozen=True)
class ProgramCase:
    """A program by its seed."""

    seed: int

    @property
    def description(self) -> str:
        """How to run it again."""
        return f"check_program({self.seed})"

    def judge(self) -> Outcome:
        """False if a value at a member lies outside of its enclosure."""
        outcome = check_program(self.seed)
        return Outcome(RULINGS[outcome.kind], outcome.reason)


def random_functions(rng: np.random.Generator) -> ProgramCase:
    """Any program."""
    return ProgramCase(int(rng.integers(2**40)))
