"""`python -m benchmarks all`: measure, write results/<name>.json, and render the pages."""

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.results import Size, save


def main() -> None:
    """Read the command line and run what it names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("which", choices=[*report.BENCHMARKS, "all", "report"])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs; kept apart")
    parser.add_argument(
        "--hundredfold", action="store_true", help="training only: go on for 100 times as long (hours; can be resumed)"
    )
    parser.add_argument("--beside", type=Path, help="sparse_attention only: a file with one more contender")
    asked = parser.parse_args()
    size = Size.QUICK if asked.quick else Size.FULL
    if asked.hundredfold and asked.which != "training":
        parser.error("--hundredfold belongs to training: python -m benchmarks training --hundredfold")
    if asked.beside and asked.which != "sparse_attention":
        parser.error("--beside belongs to sparse_attention: python -m benchmarks sparse_attention --beside FILE")
    if asked.hundredfold:
        from benchmarks import hundredfold

        hundredfold.measure(size)
    elif asked.which != "report":
        for name in report.BENCHMARKS if asked.which == "all" else [asked.which]:
            _run(name, size, **({"beside": asked.beside} if asked.beside else {}))
    for page in report.write(size):
        print(page)


def _run(name: str, size: Size, **options: Any) -> None:
    start = time.perf_counter()
    save(name, size, report.module(name).measure(size, **options))
    print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
