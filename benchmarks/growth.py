"""What doubling costs: ids (build and bound), inputs and layers (engine); and the memory that verifying takes."""

import itertools
import json
import math
import statistics
import subprocess
import sys
from typing import Any

from benchmarks.cases import Case
from benchmarks.interleave import interleave
from benchmarks.results import Size

# Softmax over three tokens: c²(c + 1)/2 ids, so the number doubles about every time.
COUNTS = {Size.FULL: (16, 20, 25, 32, 40, 51, 64), Size.QUICK: (8, 10, 13)}
ROUNDS = {Size.FULL: 2, Size.QUICK: 1}
TOKENS = {Size.FULL: (2000, 4000, 8000, 16_000, 32_000), Size.QUICK: (500, 1000)}
LAYERS = {Size.FULL: (5000, 10_000, 20_000, 40_000, 80_000), Size.QUICK: (500, 1000)}


def measure(size: Size) -> dict[str, Any]:
    """Ids in processes of their own, which tell their memory; tokens and layers interleaved in this one."""
    fixed_layers, fixed_tokens = LAYERS[size][0], TOKENS[size][0]
    return {
        "ids": _ids(size),
        "tokens": _engine([Case(fixed_layers, 2, tokens) for tokens in TOKENS[size]], "tokens"),
        "layers": _engine([Case(layers, 2, fixed_tokens) for layers in LAYERS[size]], "layers"),
    }


def _ids(size: Size) -> list[dict[str, Any]]:
    runs: dict[int, list[dict[str, Any]]] = {count: [] for count in COUNTS[size]}
    for _, count in itertools.product(range(ROUNDS[size]), runs):
        runs[count].append(_in_a_process(count))
        print(f"growth: {count} cells per axis, {runs[count][-1]['seconds']:.1f} s", flush=True)
    return [min(each, key=lambda one: one["seconds"]) for each in runs.values()]


def _in_a_process(count: int) -> dict[str, Any]:
    """Nothing is remembered from an earlier size, and the peak of the memory is this size's own."""
    command = [sys.executable, "-m", "benchmarks.one_bound", str(count)]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def _engine(cases: list[Case], what: str) -> list[dict[str, Any]]:
    from benchmarks.peers import ours

    timings = interleave([ours.program(case) for case in cases], rounds=5)
    return [{what: getattr(case, what), **timing.as_json()} for case, timing in zip(cases, timings, strict=True)]


def render(numbers: dict[str, Any]) -> str:
    """The section of the report."""
    ids = numbers["ids"]
    factors = _doublings([row["ids"] for row in ids], [row["seconds"] for row in ids])
    memory = [row["verifying_mib"] for row in ids]
    return "\n\n".join(
        [
            f"- Build + bound, when the number of ids doubles: **{max(factors):.2f}** times at most, "
            f"{statistics.geometric_mean(factors):.2f} on average (wanted: at most 2.3).\n"
            f"- Memory that verifying adds to what the process held before: {memory[0]:.0f} MiB for "
            f"{ids[0]['cells']:,} cells, **{memory[-1]:.0f} MiB** for {ids[-1]['cells']:,}.",
            _ids_table(ids, factors),
            "Each row in a process of its own; the tolerance is 1.5 times the error that the grid allows. The factor "
            "is what one exact doubling costs: the step's own factor to the power log 2 / log (ids' own factor).",
            _engine_table(numbers["tokens"], "tokens"),
            _engine_table(numbers["layers"], "layers"),
        ]
    )


def _doublings(sizes: list[int], costs: list[float]) -> list[float]:
    """For every step the factor that one exact doubling would cost."""
    return [
        (costs[k + 1] / costs[k]) ** (math.log(2) / math.log(sizes[k + 1] / sizes[k])) for k in range(len(sizes) - 1)
    ]


def _ids_table(rows: list[dict[str, Any]], factors: list[float]) -> str:
    lines = [
        "| cells per axis | ids | layers | cells proved | plan, s | build, s | bound, s | together, s | factor | "
        "peak, MiB | of it verifying |",
        "|" + "---|" * 11,
    ]
    for row, factor in zip(rows, ["", *(f"{each:.2f}" for each in factors)], strict=True):
        lines.append(
            f"| {row['count']} | {row['ids']:,} | {row['layers']:,} | {row['cells']:,} | {row['plan']:.2f} "
            f"| {row['build']:.2f} | {row['bound']:.2f} | {row['seconds']:.2f} | {factor} | {row['peak_mib']:.0f} "
            f"| {row['verifying_mib']:.0f} |"
        )
    return "\n".join(lines)


def _engine_table(rows: list[dict[str, Any]], what: str) -> str:
    factors = ["", *(f"{factor:.2f}" for factor in _doublings([r[what] for r in rows], [r["best"] for r in rows]))]
    lines = [f"| {what}, engine with skipping off | best, ms | median, ms | factor |", "|---|---|---|---|"]
    lines += [
        f"| {row[what]:,} | {1e3 * row['best']:.2f} | {1e3 * row['median']:.2f} | {factor} |"
        for row, factor in zip(rows, factors, strict=True)
    ]
    return "\n".join(lines)
