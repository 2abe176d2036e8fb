"""python -m tests.hunt: hunt for an hour or a night, print the counts, write them down."""

import argparse
import itertools
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.hunt.families import FAMILIES
from tests.hunt.hunting import Count, hunt
from tests.hunt.rulings import Ruling

# Every family has its turn several times, so that a hunt that is stopped has seen all of them.
ROUNDS = 3


def main(arguments: list[str] | None = None) -> int:
    """Hunt; the exit code says whether something was caught."""
    options = _options(arguments)
    names = [options.only] if options.only else list(FAMILIES)
    counts = {name: Count() for name in names}
    seeds = {name: itertools.count(options.seed) for name in names}
    if options.cases:
        seeds = {name: iter(range(options.seed, options.seed + options.cases)) for name in names}
    rounds = 1 if options.cases else ROUNDS
    slice_seconds = float("inf") if options.cases else options.minutes * 60 * options.workers / rounds / len(names)

    def turn(name: str) -> None:
        hunt(name, seeds[name], counts[name], until=time.monotonic() + slice_seconds)
        print(_line(name, counts[name]), flush=True)

    for _ in range(rounds):
        with ThreadPoolExecutor(options.workers) as pool:
            list(pool.map(turn, names))
    return _finish(counts, options.seed, options.out)


def _finish(counts: dict[str, Count], seed: int, out: Path | None) -> int:
    record: dict[str, Any] = {"seed": seed, "families": {name: count.to_json() for name, count in counts.items()}}
    if out is not None:
        out.write_text(json.dumps(record, indent=1))
    for count in counts.values():
        for fault in count.faults[:3]:
            print(f"\n{fault['ruling'].upper()}  --only {fault['family']} --seed {fault['seed']} --cases 1")
            print(f"  {fault['case'][:400]}\n  {fault['reason'][-400:]}")
    print()
    for line in _table(counts):
        print(line)
    return int(any(count.fault_count for count in counts.values()))


def _table(counts: dict[str, Count]) -> Iterator[str]:
    names = [ruling.value for ruling in Ruling]
    yield f"{'family':26}{'tried':>8}" + "".join(f"{name:>10}" for name in names) + f"{'slowest':>9}{'MB':>7}"
    for name, count in counts.items():
        numbers = "".join(f"{count.rulings[ruling]:>10}" for ruling in names)
        yield f"{name:26}{count.tried:>8}{numbers}{count.slowest:>8.1f}s{count.peak_megabytes:>7}"


def _line(name: str, count: Count) -> str:
    return f"{name}: " + ", ".join(f"{number} {ruling}" for ruling, number in count.rulings.items() if number)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hunt", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to hunt")
    parser.add_argument("--cases", type=int, default=0, help="so many cases of each family instead")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each case has one of its own")
    parser.add_argument("--only", choices=list(FAMILIES), help="one family alone")
    parser.add_argument("--workers", type=int, default=1, help="families at a time")
    parser.add_argument("--out", type=Path, help="a JSON file for the counts and what was caught")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
