"""The page on what outside verifiers said."""

from collections import Counter
from pathlib import Path
from typing import Any

OUTCOMES = ("right", "right, but its witness is none", "wrong", "undecided", "timeout", "error")
HEAD = """# Outside verifiers on proved instances

Every instance asks whether an input in a box gives an output beyond a threshold ([how they are made](../vnnlib.md)).
The verdicts are known: *unsat* by the model's certificate, *sat* by a witness. Made by
`python -m benchmarks.verifiers`.
"""


def render(numbers: dict[str, Any]) -> str:
    """The whole page."""
    remarks = Path(__file__).with_name("verifiers_remarks.md")
    parts = [HEAD, _machine(numbers), _checks(numbers["checked"]), _answers(numbers), _levels(numbers["rows"])]
    parts += [_bounds(numbers["rows"]), remarks.read_text() if remarks.exists() else ""]
    return "\n".join(part for part in parts if part)


def _machine(numbers: dict[str, Any]) -> str:
    found = numbers["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return (
        f"{found['date']}; {found['processor']}; {found['cores']} cores; Python {found['python']}; {versions}.\n"
        f"{numbers['seconds']:g} seconds a query.\n"
    )


def _checks(checked: list[dict[str, Any]]) -> str:
    verdicts: Counter[str] = Counter()
    for one in checked:
        verdicts.update(one["verdicts"])
    total, samples = sum(one["instances"] for one in checked), sum(one["samples"] for one in checked)
    lines = [
        "## The instances",
        "",
        f"{total} instances by three seeds: {verdicts['unsat']} unsat, {verdicts['sat']} sat. All are read by the",
        f"official parser (PyPI `vnnlib`). All verdicts hold against brute force: of {samples:,} inputs, corners among",
        "them, none satisfies an unsat property, and every witness satisfies its own. *Nearest* is how far the best of",
        "these inputs stayed away from a threshold that no input reaches.",
        "",
        "| benchmark, seed | instances | unsat, sat | certified error | nearest |",
        "|---|---|---|---|---|",
    ]
    for one in checked:
        name, _, seed = one["benchmark"].rpartition("-")
        counts = f"{one['verdicts'].get('unsat', 0)}, {one['verdicts'].get('sat', 0)}"
        nearest = "" if one["nearest"] is None else f"{-one['nearest']:.2g}"
        lines.append(f"| {name}, {seed} | {one['instances']} | {counts} | {one['certified_error']:.2g} | {nearest} |")
    return "\n".join([*lines, ""])


def _answers(numbers: dict[str, Any]) -> str:
    rows = numbers["rows"]
    lines = [
        "## The answers",
        "",
        "| verifier | unsat, right | sat, right | " + " | ".join(OUTCOMES[1:]) + " | median s | longest s |",
        "|" + "---|" * (len(OUTCOMES) + 4),
    ]
    for peer in dict.fromkeys(row["peer"] for row in rows):
        own = [row for row in rows if row["peer"] == peer]
        counts, seconds = Counter(row["outcome"] for row in own), sorted(row["seconds"] for row in own)
        right = [
            f"{sum(row['outcome'] == 'right' for row in own if row['verdict'] == verdict)} of "
            f"{sum(row['verdict'] == verdict for row in own)}"
            for verdict in ("unsat", "sat")
        ]
        others = [str(counts[outcome]) for outcome in OUTCOMES[1:]]
        times = f"{seconds[len(seconds) // 2]:.2f} | {seconds[-1]:.1f}"
        lines.append(f"| {peer} | {' | '.join((*right, *others))} | {times} |")
    lines += ["", "Bounds alone (IBP, CROWN, alpha-CROWN) can never answer sat.", ""]
    return "\n".join([*lines, *_notes(rows)])


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    """What is behind errors and wrong answers, by verifier and benchmark."""
    found: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        if row["outcome"] in ("error", "wrong", "right, but its witness is none"):
            note = str(row.get("note", "")).partition("\n")[0][:110].replace("|", "/")
            found[row["peer"], row["benchmark"].rpartition("-")[0], f"{row['outcome']} ({row['verdict']}) {note}"] += 1
    if not found:
        return ["No errors, and no wrong answers.", ""]
    lines = ["| verifier | model | what | times |", "|---|---|---|---|"]
    return [*lines, *(f"| {peer} | {name} | {what} | {count} |" for (peer, name, what), count in found.items()), ""]


def _levels(rows: list[dict[str, Any]]) -> str:
    """How the share of solved instances falls from trivial to hard ones."""
    lines = ["## From trivial to hard", "", "Right answers of all, by the size of the box and by the margin:", ""]
    for level, values in (
        ("box", ("tiny", "small", "large", "whole")),
        ("margin", ("wide", "moderate", "narrow", "narrowest")),
    ):
        lines += [f"| verifier | {' | '.join(f'{level} {value}' for value in values)} |", "|" + "---|" * 5]
        for peer in dict.fromkeys(row["peer"] for row in rows):
            cells = []
            for value in values:
                own = [row for row in rows if row["peer"] == peer and row[level] == value]
                cells.append(f"{sum(row['outcome'].startswith('right') for row in own)} of {len(own)}")
            lines.append(f"| {peer} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _bounds(rows: list[dict[str, Any]]) -> str:
    """Bounds that contradict themselves or an output that the network really has."""
    bounded = [row for row in rows if "crossed" in row]
    if not bounded:
        return ""
    lines = [
        "## Bounds that cannot be",
        "",
        "*Crossed*: a lower bound above its upper bound. *Excludes*: the network's own output at the witness lies",
        "outside the bounds. How often, and by how much at most:",
        "",
        "| verifier | instances | crossed | by | excludes | by |",
        "|---|---|---|---|---|---|",
    ]
    for peer in dict.fromkeys(row["peer"] for row in bounded):
        own = [row for row in bounded if row["peer"] == peer]
        cells = []
        for name in ("crossed", "excluded_by"):
            above = [row[name] for row in own if row.get(name, 0) > 0]
            cells.append(f"{len(above)} | {max(above):.1e}" if above else "0 | ")
        lines.append(f"| {peer} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
