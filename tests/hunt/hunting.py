"""Judging cases in a child process, so that neither a hang nor a hunger for memory ends the hunt."""

import importlib
import multiprocessing
import resource
import time
import traceback
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from anyformer.errors import AnyformerError
from tests.hunt.rulings import FAULTS, Family, Outcome, Ruling, generator

TABLE = "tests.hunt.families"
ADDRESS_SPACE = 6 << 30
# Importing, building the first models and compiling for the first time are no part of a case.
START = 120.0
KEPT = 20
# What takes long to import is imported once for all judges.
PRELOADED = ["scipy.stats", "numba"]


@dataclass
class Count:
    """What came of the cases of a family; the first faults with what is needed to see them again."""

    tried: int = 0
    rulings: dict[str, int] = field(default_factory=lambda: {ruling.value: 0 for ruling in Ruling})
    faults: list[dict[str, Any]] = field(default_factory=list)
    slowest: float = 0.0
    peak_megabytes: int = 0

    def add(self, family: str, seed: int, description: str, outcome: Outcome) -> None:
        """Count one case."""
        self.tried += 1
        self.rulings[outcome.ruling.value] += 1
        if outcome.ruling in FAULTS and len(self.faults) < KEPT:
            fault = {"family": family, "seed": seed, "ruling": outcome.ruling.value}
            self.faults.append(fault | {"case": description[:1500], "reason": outcome.reason[-1500:]})

    @property
    def fault_count(self) -> int:
        """Faults of every kind."""
        return sum(self.rulings[ruling.value] for ruling in FAULTS)

    def to_json(self) -> dict[str, Any]:
        """For the record."""
        numbers = {"slowest_seconds": round(self.slowest, 2), "peak_megabytes": self.peak_megabytes}
        return {"tried": self.tried, **self.rulings, **numbers, "faults": self.faults}


def judge_one(family: Family, name: str, seed: int) -> tuple[str, Outcome]:
    """Make a case and judge it, here and now."""
    description = "(not made)"
    try:
        case = family.make(generator(name, seed))
        description = case.description
        return description, case.judge()
    except AnyformerError as error:
        return description, Outcome(Ruling.REFUSED, str(error))
    except Exception:
        return description, Outcome(Ruling.CRASH, traceback.format_exc())


class Judge:
    """A child process that judges cases of one family, one after the other."""

    def __init__(self, name: str, table: str = TABLE) -> None:
        self.name, self.table = name, table
        self.family: Family = importlib.import_module(table).FAMILIES[name]
        self._child: Any = None

    def __enter__(self) -> "Judge":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def judge(self, seed: int, count: Count) -> None:
        """Judge the case of a seed and count it."""
        if self._child is None:
            self._start()
        self._connection.send(seed)
        start = time.monotonic()
        if not self._connection.poll(self.family.seconds):
            self._end()
            count.add(self.name, seed, self._shown(seed), Outcome(Ruling.HANG, f"nothing in {self.family.seconds} s"))
            return
        count.slowest = max(count.slowest, time.monotonic() - start)
        try:
            description, outcome, peak = self._connection.recv()
        except EOFError:
            self._end()
            count.add(self.name, seed, self._shown(seed), Outcome(Ruling.CRASH, "the process died"))
            return
        count.peak_megabytes = max(count.peak_megabytes, peak)
        if peak - self._idle > self.family.megabytes:
            self._end()
            if outcome.ruling not in FAULTS or outcome.ruling is Ruling.CRASH:
                outcome = Outcome(Ruling.GREEDY, f"{peak - self._idle} MB; {outcome.ruling.value}: {outcome.reason}")
        count.add(self.name, seed, description, outcome)

    def _shown(self, seed: int) -> str:
        """The description of a case whose judge cannot give it any more; making one is harmless."""
        return self.family.make(generator(self.name, seed)).description

    def _start(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([self.table, *PRELOADED])
        self._connection, theirs = context.Pipe()
        self._child = context.Process(target=_serve, args=(theirs, self.name, self.table), daemon=True)
        self._child.start()
        theirs.close()
        if not self._connection.poll(START):
            raise RuntimeError(f"the judge of {self.name} did not start")
        self._idle: int = self._connection.recv()

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.join()
            self._connection.close()
            self._child = None


def _serve(connection: Connection, name: str, table: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    warnings.simplefilter("ignore")
    family: Family = importlib.import_module(table).FAMILIES[name]
    spare_effort()
    # Whatever a family makes once is made before the clock starts.
    family.prepare()
    connection.send(_peak())
    while True:
        try:
            seed = connection.recv()
        except EOFError:
            return
        description, outcome = judge_one(family, name, seed)
        connection.send((description, outcome, _peak()))


def spare_effort() -> None:
    """Let the checker give up early where it would cut ever finer: it says "undecided" sooner, and nothing else."""
    refinement = importlib.import_module("anyformer.certificates.bounds.refinement")
    if hasattr(refinement, "WORK_BOXES"):
        refinement.WORK_BOXES = 1 << 15


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def hunt(
    name: str, seeds: Iterable[int], count: Count | None = None, table: str = TABLE, until: float = float("inf")
) -> Count:
    """Judge the cases of some seeds, until a moment of the monotonic clock."""
    count = Count() if count is None else count
    with Judge(name, table) as judge:
        for seed in seeds:
            if time.monotonic() >= until:
                break
            judge.judge(seed, count)
    return count
