"""The engine against its peers, with every layer computed for every token."""

from typing import Any

from benchmarks import machine
from benchmarks.cases import Case
from benchmarks.interleave import Program, Timing, interleave, ratio
from benchmarks.own_engines import compare_own, starting_up
from benchmarks.results import Size

HEADLINE = Case(5000, 2, 2000)
# In this order: what was found best for a width and a number of tokens is not searched for again.
CASES = [
    HEADLINE,
    Case(5000, 1, 2000),
    Case(5000, 3, 2000),
    Case(5000, 4, 2000),
    Case(20_000, 2, 2000),
    Case(100_000, 2, 2000),
    Case(5000, 2, 20_000),
]
QUICK = [Case(100, 2, 400), Case(200, 2, 400)]
DGEMM_SIZES = {Size.FULL: (1000, 2000, 3000, 4000), Size.QUICK: (1000, 2000)}
# Away from the headline only the way of torch.compile that can win is compiled: each takes about a minute.
LIKELY = {"torch.compile": frozenset({"written out a graph"})}


def measure(size: Size) -> dict[str, Any]:
    """All cases, each with everybody in one interleaved run; then our own engines among themselves."""
    from threadpoolctl import threadpool_limits

    cases = CASES if size is Size.FULL else QUICK
    with threadpool_limits(machine.THREADS, user_api="blas"):
        dgemm = machine.dgemm(DGEMM_SIZES[size])
        measured = []
        known: dict[tuple[str, int, int], frozenset[str]] = {}
        for case in cases:
            print(f"engine: {case}", flush=True)
            ways = {} if case is HEADLINE else LIKELY
            measured.append(_measure_case(case, dgemm, known, ways))
    return {"cases": measured, "own": compare_own(size), "start": starting_up()}


def _measure_case(
    case: Case,
    dgemm: tuple[Program, float],
    known: dict[tuple[str, int, int], frozenset[str]],
    ways: dict[str, frozenset[str]],
) -> dict[str, Any]:
    """One case; of each peer the ways that are known best, or those named, or all."""
    from benchmarks.peers import ours
    from benchmarks.peers.choose import PEERS, choose

    own = ours.program(case)
    expected = own.read(own.call())
    programs, tried = [own, dgemm[0]], {}
    for peer in PEERS:
        key = (peer, case.width, case.tokens)
        chosen = choose(peer, case, expected, known.get(key, ways.get(peer, frozenset())))
        known.setdefault(key, frozenset({chosen.programs[0].name}))
        programs += chosen.programs
        tried[peer] = chosen.tried
    timings = interleave(programs, rounds=_rounds(case))
    return _numbers(case, programs, timings, dgemm[1]) | {"tried": tried}


def _rounds(case: Case) -> int:
    """Many where a round is short."""
    return max(5, min(15, case.layers // 50, 150_000_000 // (case.layers * case.tokens)))


def _numbers(case: Case, programs: list[Program], timings: list[Timing], dgemm_flops: float) -> dict[str, Any]:
    own, peak = timings[0], dgemm_flops / timings[1].best
    rows = [
        {
            "peer": program.peer,
            "way": program.name,
            "is_usual": program.is_usual,
            "setup_seconds": program.setup_seconds,
            "times_ours": timing.best / own.best,
            "times_ours_within_rounds": ratio(timing, own),
            **timing.as_json(),
        }
        for program, timing in zip(programs[2:], timings[2:], strict=True)
    ]
    return {
        "case": str(case),
        "layers": case.layers,
        "width": case.width,
        "tokens": case.tokens,
        "ours": own.as_json(),
        "dgemm_gflops": peak / 1e9,
        "share_of_peak": case.product_flops / own.best / peak,
        "share_of_peak_all_operations": case.all_flops / own.best / peak,
        "peers": sorted(rows, key=lambda row: row["best"]),
    }


def render(numbers: dict[str, Any]) -> str:
    """The section of the report."""
    first = numbers["cases"][0]
    return "\n\n".join(
        [
            _claims(numbers),
            _case_table(numbers["cases"]),
            f"Everybody at {first['case']} (ms; times ours is best against best, and the median over rounds):",
            _peer_table(first),
            "Ways tried at that size (ms, best of three calls, one after the other): " + _ways(first["tried"]) + ".",
            _own_table(numbers),
        ]
    )


def _claims(numbers: dict[str, Any]) -> str:
    first = numbers["cases"][0]
    best = first["peers"][0]
    usual = [row for row in first["peers"] if row["is_usual"]]
    eager = {row["way"]: row for row in first["peers"] if row["peer"] == "torch eager"}
    listed = "; ".join(f"{row['times_ours']:.1f} ({way})" for way, row in eager.items())
    narrow = [case for case in numbers["cases"] if case["width"] <= 3]
    worst = min(narrow, key=lambda case: case["share_of_peak"])
    return "\n".join(
        [
            f"- Times faster than the best peer ({best['peer']}: {best['way']}) at {first['case']}: "
            f"**{best['times_ours']:.1f}** (wanted: 5).",
            "- Times faster than peers as they are usually written: "
            + ", ".join(f"{row['peer']} {row['times_ours']:.1f}" for row in usual)
            + ".",
            f"- Times faster than torch eager: **{listed}** (wanted: 30).",
            f"- Share of the dgemm peak for width ≤ 3, at its lowest ({worst['case']}): "
            f"**{worst['share_of_peak']:.0%}** counting the products only, "
            f"{worst['share_of_peak_all_operations']:.0%} counting every operation (wanted: 60 %).",
        ]
    )


def _case_table(cases: list[dict[str, Any]]) -> str:
    peers = sorted({row["peer"] for case in cases for row in case["peers"]})
    lines = [
        "| layers | width | tokens | ours, ms | dgemm, GFlop/s | share of it (all operations) | "
        + " | ".join(f"{peer}, × ours" for peer in peers)
        + " |",
        "|" + "---|" * (6 + len(peers)),
    ]
    for case in cases:
        best = {peer: min(row["times_ours"] for row in case["peers"] if row["peer"] == peer) for peer in peers}
        lines.append(
            f"| {case['layers']:,} | {case['width']} | {case['tokens']:,} | {1e3 * case['ours']['best']:.2f} "
            f"| {case['dgemm_gflops']:.0f} | {case['share_of_peak']:.0%} "
            f"({case['share_of_peak_all_operations']:.0%}) | "
            + " | ".join(f"{best[peer]:.1f}" for peer in peers)
            + " |"
        )
    return "\n".join(lines)


def _peer_table(case: dict[str, Any]) -> str:
    own = case["ours"]
    lines = [
        "| | way | best | median | × ours | within rounds | set-up, s |",
        "|---|---|---|---|---|---|---|",
        f"| anyformer | compiled engine | {1e3 * own['best']:.2f} | {1e3 * own['median']:.2f} | 1 | 1 | see below |",
    ]
    lines += [
        f"| {row['peer']} | {row['way']} | {1e3 * row['best']:.1f} | {1e3 * row['median']:.1f} "
        f"| {row['times_ours']:.1f} | {row['times_ours_within_rounds']:.1f} | {row['setup_seconds']:.1f} |"
        for row in case["peers"]
    ]
    return "\n".join(lines)


def _ways(tried: dict[str, dict[str, float]]) -> str:
    return "; ".join(
        f"{peer}: "
        + ", ".join(f"{way} {1e3 * seconds:.0f}" for way, seconds in sorted(ways.items(), key=lambda w: w[1]))
        for peer, ways in tried.items()
    )


def _own_table(numbers: dict[str, Any]) -> str:
    own, start = numbers["own"], numbers["start"]
    lines = [
        f"Our engines on a network that was built ({own['network']}; {own['sequences']:,} sequences):",
        "",
        "| engine | layers computed | best, ms | median, ms |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['engine']} | {row['layers']} | {1e3 * row['best']:.1f} | {1e3 * row['median']:.1f} |"
        for row in own["rows"]
    ]
    first, second = start["empty cache"], start["full cache"]
    return "\n".join(lines) + (
        f"\n\nThe first call of a process takes {first['call']:.1f} s where nothing was ever compiled and "
        f"{second['call']:.1f} s where it was, after {second['import_numba']:.1f} s to import Numba."
    )
