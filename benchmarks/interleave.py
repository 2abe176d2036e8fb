"""Timing programs round-robin, so that whatever else the machine does falls on all of them alike."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Clock: TypeAlias = Callable[[], float]
"""`time.perf_counter`, or `time.process_time`, which others on the machine hardly change."""

# Idle threads of some libraries keep spinning for a few milliseconds after a call; let them go to sleep.
PAUSE = 0.02


@dataclass(frozen=True, eq=False)
class Program:
    """Something to time: a call, how to read its result as an array, and the seconds it took to get ready."""

    name: str
    call: Callable[[], Any]
    read: Callable[[Any], Any] = lambda result: result
    setup_seconds: float = 0.0
    peer: str = ""
    is_usual: bool = False
    """Whether this is how people write it; such a program is reported even where another way is faster."""


@dataclass(frozen=True)
class Timing:
    """Seconds of every round of one program."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The fastest round: what the machine can do when left alone."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The middle round."""
        return statistics.median(self.seconds)

    def as_json(self) -> dict[str, float | int]:
        """For the results file."""
        return {"best": self.best, "median": self.median, "rounds": len(self.seconds)}


def interleave(
    programs: Sequence[Program], rounds: int, clock: Clock = time.perf_counter, enough: float = math.inf
) -> list[Timing]:
    """Time every program once a round, each after one call that does not count; every round starts with another one.

    A program whose timed calls have taken `enough` seconds sits out the rounds that are left, and a call that takes as
    long as that counts at once.
    """
    seconds: list[list[float]] = [[] for _ in programs]
    for turn in range(rounds):
        for k in range(len(programs)):
            index = (k + turn) % len(programs)
            if sum(seconds[index]) >= enough:
                continue
            time.sleep(PAUSE)
            took = timed(programs[index].call, clock)
            seconds[index].append(took if took >= enough else timed(programs[index].call, clock))
    return [Timing(tuple(each)) for each in seconds]


def ratio(slow: Timing, fast: Timing) -> float:
    """How many times longer `slow` takes: the median over rounds of the ratio within a round."""
    return statistics.median(a / b for a, b in zip(slow.seconds, fast.seconds, strict=True))


def best_of(program: Program, calls: int, clock: Clock = time.perf_counter) -> float:
    """The fastest of some calls, after one that is not timed."""
    program.call()
    return min(timed(program.call, clock) for _ in range(calls))


def timed(call: Callable[[], Any], clock: Clock = time.perf_counter) -> float:
    """Seconds of one call."""
    start = clock()
    call()
    return clock() - start
