"""Functions of our own making, compiled, proved, verified and sampled densely."""

from typing import Any

from benchmarks.compiling import HEAD, ROUNDING, compiled, shown
from benchmarks.functions import CASES, Case
from benchmarks.results import Size

SAMPLES = {Size.FULL: 20_000, Size.QUICK: 200}
WIDEST = 3.0
# Why a proof is further from the largest error found than it is elsewhere.
REASONS = {
    "soft_sort": "the rule for a softmax head allows an error of the scores to move weight between tokens that are as "
    "far apart as any two can be; here only tokens close to each other have weight.",
    "cosine_to_mean": "a product of four factors that depend on the same inputs. Its error is bounded with every "
    "factor at its largest, 1/length at the shortest token and the products at the longest; no input has both.",
    "transformer_block_with_norms": "twice a centred token over its own length. Intervals do not see that such a "
    "quotient is at most √3, and the second norm gets the first one's slack as its "
    "domain. So it is compiled with 1 added to the variances; with less than that it takes many more units.",
}


def measure(size: Size) -> dict[str, Any]:
    """Every function once, after one that is not timed."""
    compiled(CASES[0].target, 1e-2, samples=10)
    return {"rows": [_row(case, SAMPLES[size]) for case in CASES]}


def _row(case: Case, samples: int) -> dict[str, Any]:
    row = compiled(case.target, case.tolerance, samples)
    print(f"own_functions: {case.name}, {row['certified'] / row['measured']:.2f}", flush=True)
    return {"function": case.function.__name__, "low": case.low, "high": case.high, **row}


def render(numbers: dict[str, Any]) -> str:
    """The section of the page."""
    rows = numbers["rows"]
    lines = [f"| function | tokens × width | domain | ε | {HEAD} | proved/measured |", "|" + "---|" * 13]
    for row in rows:
        name, size = row["function"].replace("_", " "), f"{row['tokens']} × {row['width']}"
        lines.append(
            f"| {name} | {size} | [{row['low']:g}, {row['high']:g}] | {row['tolerance']:g} | {shown(row)} "
            f"| {'exact' if _is_exact(row) else format(_ratio(row), '.2f')} |"
        )
    inexact = [row for row in rows if not _is_exact(row)]
    wide = [row for row in inexact if _ratio(row) > WIDEST]
    return "\n".join(
        [
            f"{len(rows)} functions in plain NumPy (`benchmarks/functions.py`), all compiled, proved and verified; the",
            f"largest error of {rows[0]['samples']:,} inputs that reach the corners, and of a local search from the",
            "worst of them, is never above the proved one. "
            f"{len(rows) - len(inexact)} are exact but for rounding. Of the other {len(inexact)}, "
            f"{len(inexact) - len(wide)} are proved within a factor of {WIDEST:g} of what was found.",
            "",
            *lines,
            "",
            *(f"- **{row['function'].replace('_', ' ')}**: {REASONS.get(row['function'], '?')}" for row in wide),
        ]
    )


def _is_exact(row: dict[str, Any]) -> bool:
    return bool(row["certified"] < ROUNDING)


def _ratio(row: dict[str, Any]) -> float:
    return float(row["certified"] / row["measured"])
