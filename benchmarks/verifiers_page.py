"""The page on what outside verifiers said."""

import textwrap
from collections import Counter
from typing import Any

OUTCOMES = ("right", "right, but its witness is none", "wrong", "undecided", "timeout", "error")
HEAD = """# Outside verifiers on proved instances

Every instance asks whether an input in a box gives an output beyond a threshold ([how they are made](../vnnlib.md)).
The verdicts are known: *unsat* by the model's certificate, *sat* by a witness. Made by
`python -m benchmarks.verifiers`.
"""
# Of sums in float64: what is no larger says nothing.
ROUNDING = 2.0**-44
REMARKS = """## What the disagreements are

- **Marabou, sat for unsat; witnesses that are none.** It accepts a bound that is missed by less than about 1e-5. In the
  wrong answer seen, the value that it gives itself for the output lies on the wrong side of the threshold. With the
  threshold of that instance moved by steps, it says sat up to a distance of 8.6e-6 from all outputs, and unsat from
  1.2e-5 on. Its witnesses lie on the threshold itself, where the rounding of float32 decides.
- **Marabou, undecided.** Networks that keep a softmax, most of the instances satisfiable: it answers UNKNOWN.
- **Marabou, reading.** As exported, a head that compares tokens is not read (`IndexError`): a product of
  (1, n, d) with a matrix loses its first axis, and the Transpose after it does not. Here it is given the axes that it
  expects.
- **auto_LiRPA, bounds that cannot be.** In float32 they are not rounded outwards, so they are off by some units in the
  last place. In float64 only softmax is left: its linear bounds have a constant of 1e-8 inside their logarithms and
  denominators. On one softmax of 2 keys and a box that is a point, the lower bound is 1.4e-8 above the upper bound, in
  float64; from a width of the scores of about 1e-7 on, it is hidden. No verdict was wrong: thresholds of unsat
  instances are 2⁻¹⁸ or more away from all outputs.
- **auto_LiRPA, alpha-CROWN by default.** It ends with errors of shapes (`einsum(): subscript x has size …`) on graphs
  with several heads, unless `sparse_intermediate_bounds` is switched off, as here.
- *Boxes split* is a loop of ours around its CROWN: halve the widest side of every box that is not excluded, and run
  the network at the boxes' centres and corners.
"""


def render(numbers: dict[str, Any]) -> str:
    """The whole page."""
    parts = [HEAD, _machine(numbers), _checks(numbers["checked"]), _answers(numbers), _levels(numbers["rows"])]
    parts += [_bounds(numbers["rows"]), REMARKS]
    return "\n".join(part for part in parts if part)


def _machine(numbers: dict[str, Any]) -> str:
    found = numbers["machine"]
    versions = {**{name: found["versions"][name] for name in ("anyformer", "onnxruntime")}, **numbers["peers"]}
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return _prose(
        f"{found['date']}; {found['processor']}; {found['cores']} cores; Python {found['python']}; {listed}. "
        f"{numbers['seconds']:g} seconds a query."
    )


def _prose(text: str) -> str:
    return textwrap.fill(text, 120) + "\n"


def _checks(checked: list[dict[str, Any]]) -> str:
    verdicts: Counter[str] = Counter()
    for one in checked:
        verdicts.update(one["verdicts"])
    total, samples = sum(one["instances"] for one in checked), sum(one["samples"] for one in checked)
    said = _prose(
        f"{total} instances by three seeds: {verdicts['unsat']} unsat, {verdicts['sat']} sat. All are read by the "
        f"official parser (PyPI `vnnlib`). All verdicts hold against brute force: of {samples:,} inputs, corners among "
        f"them, none satisfies an unsat property, and every witness satisfies its own. *Nearest* is how far the best "
        f"of these inputs stayed away from a threshold that no input reaches. Uniform attention "
        f"is folded for odd seeds."
    )
    lines = [
        "## The instances",
        "",
        said,
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
            found[row["peer"], row["benchmark"].rpartition("-")[0], f"{_what(row)}; {_note(row)}"] += 1
    if not found:
        return ["No errors, and no wrong answers.", ""]
    lines = ["| verifier | model | what | times |", "|---|---|---|---|"]
    return [*lines, *(f"| {peer} | {name} | {what} | {count} |" for (peer, name, what), count in found.items()), ""]


def _what(row: dict[str, Any]) -> str:
    return f"{row['answer']} for {row['verdict']}" if row["outcome"] != "error" else "error"


def _note(row: dict[str, Any]) -> str:
    if "satisfied_by" in row:
        return f"its input misses the threshold by {-row['satisfied_by']:.1e}"
    return str(row.get("note", "")).partition("\n")[0][:110].replace("|", "/")


def _levels(rows: list[dict[str, Any]]) -> str:
    """How the share of solved instances falls from trivial to hard ones."""
    lines = ["## From trivial to hard", "", "Right answers of all, by the size of the box and by the margin:", ""]
    for level, values in (
        ("box", ("point", "tiny", "small", "large", "whole")),
        ("margin", ("wide", "moderate", "narrow", "narrowest")),
    ):
        lines += [
            f"| verifier | {' | '.join(f'{level} {value}' for value in values)} |",
            "|" + "---|" * (len(values) + 1),
        ]
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
        "*Crossed*: a lower bound above its upper bound. *Excludes*: the graph's own output at the witness, in",
        "float64, lies outside the bounds. How often, and by how much at most:",
        "",
        "| verifier | instances | crossed | by | excludes | by |",
        "|---|---|---|---|---|---|",
    ]
    for peer in dict.fromkeys(row["peer"] for row in bounded):
        own = [row for row in bounded if row["peer"] == peer]
        cells = []
        for name in ("crossed", "excluded_by"):
            above = [row[name] for row in own if row.get(name, 0) > ROUNDING]
            cells.append(f"{len(above)} | {max(above):.1e}" if above else "0 | ")
        lines.append(f"| {peer} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
