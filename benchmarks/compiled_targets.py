"""Ready-made targets, compiled at 3 to 512 tokens and three tolerances; and small ones by every method."""

from typing import Any

import anyformer as af
from anyformer import targets
from anyformer.comparison import compare
from anyformer.construction import Request
from anyformer.errors import PlanError
from benchmarks.compiling import HEAD, compiled, shown
from benchmarks.results import Size

NAMES = {
    "mean-scale": 1,
    "softmax": 1,
    "attention": 4,
    "centre": 1,
    "centroid-distance": 2,
    "power-sums": 1,
    "cumulative-mean": 1,
    "moving-average": 1,
    "running-maximum": 1,
}
TOKENS = {Size.FULL: (3, 16, 128, 512), Size.QUICK: (3, 16)}
TOLERANCES = {Size.FULL: (1e-2, 1e-4, 1e-6), Size.QUICK: (1e-2,)}
# Numbers in all inputs together, about; never fewer than 200 sequences.
SAMPLED = {Size.FULL: 1 << 20, Size.QUICK: 1 << 12}
SMALL_TOKENS, SMALL_TOLERANCE, P = 3, 0.4, 2.0
PATIENCE = 30.0


def measure(size: Size) -> dict[str, Any]:
    """Both tables."""
    compiled(targets.softmax(tokens=3), 1e-2, samples=10)  # imports and compiles what is used first
    rows = []
    for name, width in NAMES.items():
        for tokens in TOKENS[size]:
            print(f"compiled_targets: {name}, {tokens} tokens", flush=True)
            target = targets.ready_made(name, tokens, width)
            samples = max(200, min(20_000, SAMPLED[size] // (tokens * width)))
            rows += [{"target": name, **compiled(target, one, samples)} for one in TOLERANCES[size]]
    return {"rows": rows, "small": [_small(name) for name in targets.CATALOGUE]}


def _small(name: str) -> dict[str, Any]:
    """A target by all methods in L²; those that refuse are named with their reason."""
    print(f"compiled_targets: {name} by every method", flush=True)
    request = Request(target=targets.ready_made(name, SMALL_TOKENS), tolerance=SMALL_TOLERANCE, p=P)
    found: dict[str, Any] = {}
    for attempt in compare(request, patience=PATIENCE):
        if attempt.model is None:
            found[attempt.method] = {"refused": attempt.refused or "expected to take too long"}
            continue
        certificate = attempt.model.certificate
        assert attempt.is_certified
        assert certificate.measured.low <= certificate.certified_error
        found[attempt.method] = {
            "parameters": attempt.model.network.parameter_count,
            "certified": certificate.certified_error,
            "measured": certificate.measured.error,
        }
    return {"target": name, "methods": found, "auto": _automatic(request)}


def _automatic(request: Request) -> str:
    try:
        return af.plan(request.target, request.tolerance, p=request.p).method.name
    except PlanError as error:
        return str(error)


def render(numbers: dict[str, Any]) -> str:
    """The section of the page."""
    rows = numbers["rows"]
    lines = [f"| target | tokens | ε | {HEAD} |", "|" + "---|" * 11]
    shown_before: dict[tuple[str, int], tuple[int, ...]] = {}
    exact = set()
    for row in rows:
        key, sizes = (row["target"], row["tokens"]), (row["layers"], row["parameters"])
        if shown_before.get(key) == sizes:
            exact.add(row["target"])
            continue
        shown_before[key] = sizes
        lines.append(f"| {row['target']} | {row['tokens']} | {row['tolerance']:g} | {shown(row)} |")
    ratios = [row["certified"] / row["measured"] for row in rows if row["certified"] > 1e-9]
    return "\n".join(
        [
            f"{len(rows)} networks, all proved and verified again; measured above proved: none. Where the error is "
            f"more than rounding, proved/measured is between {min(ratios):.2f} and {max(ratios):.2f}, median "
            f"{sorted(ratios)[len(ratios) // 2]:.2f}.",
            f"{', '.join(sorted(exact))} are exact but for rounding: the same network serves every ε, and stands here",
            "once. Attention and centroid-distance have width 4 and 2, the others 1. Seconds are the processor's.",
            "",
            *lines,
            "",
            "### Every method on small targets",
            "",
            f"{SMALL_TOKENS} tokens, ε = {SMALL_TOLERANCE:g} in L²: parameters, certified and measured errors. `auto`",
            "takes the network with the fewest parameters among the methods that are known to fit.",
            "",
            *_small_table(numbers["small"]),
        ]
    )


def _small_table(small: list[dict[str, Any]]) -> list[str]:
    methods = list(small[0]["methods"])
    lines = [f"| target | {' | '.join(methods)} | auto |", "|" + "---|" * (len(methods) + 2)]
    for row in small:
        cells = [_cell(row["methods"][method]) for method in methods]
        lines.append(f"| {row['target']} | {' | '.join(cells)} | {row['auto']} |")
    return lines


def _cell(found: dict[str, Any]) -> str:
    if "refused" in found:
        return "refused"
    return f"{found['parameters']:,}: {found['certified']:.3g} ≥ {found['measured']:.3g}"
