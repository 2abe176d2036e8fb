"""What the numbers of `benchmarks/sparse_attention.py` say: a section of RESULTS.md, and a page of its own."""

import itertools
from collections.abc import Iterable
from typing import Any, Final

from benchmarks.attention_cases import BIRD, RANDOM, WINDOW
from benchmarks.attention_numbers import BOTH, FORWARD, SGEMM, SGEMM_BY_TORCH, Numbers
from benchmarks.peers.names import BIG_BIRD, DENSE, FLEX, GATHER, LOCAL, LONGFORMER, OURS

MAIN: Final = 4096
LONG: Final = 16_384
WANTED: Final = (
    (WINDOW.name, MAIN, DENSE, 14.0),
    (WINDOW.name, LONG, DENSE, 45.0),
    (WINDOW.name, MAIN, LONGFORMER, 4.0),
    (WINDOW.name, MAIN, LOCAL, 2.0),
    (BIRD.name, MAIN, BIG_BIRD, 4.0),
    (RANDOM.name, MAIN, GATHER, 4.0),
)
WANTED_BESIDE: Final = 1.3
WANTED_DOUBLING: Final = 2.3
WANTED_GIB: Final = 2.0
# Times by the clock say nothing where others hold the second core; then they are left out.
TWO_CORES: Final = 1.6


def render(given: dict[str, Any]) -> str:
    """The section: claims, and everybody at one length."""
    numbers = Numbers(given)
    tokens = MAIN if MAIN in numbers.lengths() else numbers.lengths()[-1]
    return "\n\n".join(
        [
            _claims(numbers),
            f"All patterns at {tokens:,} tokens, {BOTH}, one thread: ms, and times ours.",
            _by_pattern(numbers, tokens),
            _manner(numbers),
            "Every length, forward alone, growth, memory: [docs/results/sparse_attention.md]"
            "(../docs/results/sparse_attention.md).",
        ]
    )


def render_in_full(given: dict[str, Any]) -> str:
    """The page."""
    numbers = Numbers(given)
    parts = [_claims(numbers), _manner(numbers)]
    on_two = [tokens for tokens in numbers.lengths(2) if numbers.speed_up(tokens) >= TWO_CORES]
    for tokens in sorted({*numbers.lengths(2)} - {*on_two}):
        parts.append(
            f"Times on two threads at {tokens:,} tokens are left out: the second core was not free all the time. sgemm "
            f"itself was only {numbers.speed_up(tokens):.2f} times as fast as on one, where {TWO_CORES:g} is asked for."
        )
    for pattern in numbers.patterns:
        parts += [f"### {pattern[0].upper()}{pattern[1:]}", _about(numbers, pattern)]
        for way in (BOTH, FORWARD):
            table = _by_length(numbers, pattern, way, 1, numbers.lengths())
            parts += [f"One thread, {way}: ms of the processor, and times ours.", table]
        if on_two:
            table = _by_length(numbers, pattern, BOTH, 2, on_two)
            parts += [f"Two threads, {BOTH}: ms by the clock, and times ours.", table]
    return "\n\n".join([*parts, *_shares(numbers), *_growth(numbers), *_memory(numbers), *_agreement(numbers)])


def _claims(numbers: Numbers) -> str:
    lines = []
    for pattern, tokens, contender, least in WANTED:
        times = numbers.times(pattern, contender, tokens, BOTH)
        if times is not None:
            lines.append(
                f"- Times faster than {contender}, {pattern}, {tokens:,} tokens: **{times:.1f}** (wanted: {least:g})."
            )
    forward = [(name, numbers.times(name, FLEX, MAIN, FORWARD)) for name in numbers.patterns]
    if shown := ", ".join(f"{name} {times:.1f}" for name, times in forward if times):
        lines.append(f"- Times faster than compiled FlexAttention, forward alone, {MAIN:,} tokens: {shown}.")
    beside = numbers.given["beside"]
    if beside and (times := numbers.times(WINDOW.name, beside, MAIN, BOTH)):
        rest = [(name, numbers.times(name, beside, MAIN, BOTH)) for name in numbers.patterns if name != WINDOW.name]
        others = ", ".join(f"{name} {1 / other:.2f}" for name, other in rest if other)
        lines.append(
            f"- Time over that of the same method in C++, compiled for this machine and not part of the package, at "
            f"{MAIN:,} tokens: **{1 / times:.2f}** for {WINDOW.name} (wanted: at most {WANTED_BESIDE:g}); {others}."
        )
    worst = {name: max(f for each, _, f in _factors(numbers) if each == name) for name in _growing(numbers)}
    others = ", ".join(f"{name} {factor:.2f}" for name, factor in worst.items() if name != WINDOW.name)
    rows = _grown(numbers, WINDOW.name)
    lines.append(
        f"- Doubling the length, {rows[0]['tokens']:,} to {rows[-1]['tokens']:,} tokens, {WINDOW.name}: "
        f"**{worst[WINDOW.name]:.2f}** times at most (wanted: at most {WANTED_DOUBLING:g}); {others}."
    )
    ours = [row for row in numbers.given["memory"] if (row["pattern"], row["contender"]) == (WINDOW.name, OURS)]
    most = max(ours, key=lambda row: row["tokens"])
    lines.append(
        f"- Memory at {most['tokens']:,} tokens, {WINDOW.name}: the whole process never holds more than "
        f"**{most['peak_mib'] / 1024:.2f} GiB** (wanted: {WANTED_GIB:g}), of which {most['inputs_mib']:.0f} MiB are "
        f"q, k, v and what flows back; a step adds {most['step_mib']:.0f} MiB."
    )
    return "\n".join(lines)


def _manner(numbers: Numbers) -> str:
    given = numbers.given
    return (
        f"Float32, batch 1, {given['heads']} heads of {given['head_size']} channels, {given['instructions']}; unless "
        f"another way is named, {BOTH}. All contenders of a length were timed round-robin in one process; the number "
        "is the fastest round, and other programs were running. On one thread it is the processor's time, on two the "
        "clock's. Peers have no projections and no dropout, get tensors in their own layout, and FlexAttention is "
        "compiled, with the pattern as a formula where there is one and with blocks as small as suits it; PyTorch has "
        "no backward of it for CPUs. local-attention has no global tokens. BigBird (HF) also makes all n² attention "
        "weights, and is dense itself below 768 tokens."
    )


def _about(numbers: Numbers, pattern: str) -> str:
    found = [one for tokens in numbers.lengths() if (one := numbers.counted(pattern, tokens))]
    said = ", ".join(
        f"{one['pairs'] / one['tokens']:.0f} keys a query at {one['tokens']:,} tokens" for one in (found[0], found[-1])
    )
    most = max(one["executed"] / one["pairs"] for one in found)
    return f"{said[0].upper()}{said[1:]}; at most {most:.2f} times as many pairs are computed as are wanted."


def _by_length(numbers: Numbers, pattern: str, way: str, threads: int, lengths: list[int]) -> str:
    rows = [
        [name, *(_cell(numbers, pattern, name, tokens, way, threads) for tokens in lengths)]
        for name in numbers.names(pattern, way, threads)
    ]
    return _table(["", *(f"{tokens:,}" for tokens in lengths)], rows)


def _by_pattern(numbers: Numbers, tokens: int) -> str:
    names = list(dict.fromkeys(name for each in numbers.patterns for name in numbers.names(each, BOTH)))
    rows = [[name, *(_cell(numbers, each, name, tokens, BOTH, 1) for each in numbers.patterns)] for name in names]
    if numbers.has_peak:
        shares = [numbers.share(each, tokens, BOTH) for each in numbers.patterns]
        rows.append(["ours, share of sgemm", *("" if share is None else f"{share:.0%}" for share in shares)])
    return _table(["", *numbers.patterns], rows)


def _cell(numbers: Numbers, pattern: str, name: str, tokens: int, way: str, threads: int) -> str:
    seconds = numbers.seconds(pattern, name, tokens, way, threads)
    if seconds is None:
        return ""
    shown = f"{1e3 * seconds:,.0f}" if seconds >= 0.1 else f"{1e3 * seconds:.1f}"
    times = numbers.times(pattern, name, tokens, way, threads)
    return (
        shown
        if name == OURS or times is None
        else f"{shown} (×{times:.3g})"
        if times < 100
        else f"{shown} (×{times:.0f})"
    )


def _shares(numbers: Numbers) -> Iterable[str]:
    if not numbers.has_peak:
        return (
            "### Share of the machine's peak",
            f"Left out: in this run sgemm was {numbers.given['sgemm_library']}, {numbers.peak(SGEMM):.0f} GFlop/s on "
            f"one thread, which does not use {numbers.given['instructions']} and is no peak of this machine. PyTorch's "
            f"own sgemm, of which its dense attention is made, reaches {numbers.peak(SGEMM_BY_TORCH):.0f} GFlop/s "
            "here: where a machine runs that closer to its peak, the ratios to dense attention and to the peers are "
            "smaller.",
        )
    lengths = numbers.lengths()
    rows = []
    for pattern, way in itertools.product(numbers.patterns, (FORWARD, BOTH)):
        shares = [numbers.share(pattern, tokens, way) for tokens in lengths]
        rows.append([f"{pattern}, {way}", *("" if share is None else f"{share:.0%}" for share in shares)])
    return (
        "### Share of the machine's peak",
        f"What ours reaches of sgemm ({numbers.peak(SGEMM):.0f} GFlop/s on one thread by "
        f"{numbers.given['sgemm_library']}), counting only products of pairs that the pattern has; of those of "
        f"the backward, one is the forward's scores again. PyTorch's own sgemm, of which its dense attention is made, "
        f"reaches {numbers.peak(SGEMM_BY_TORCH):.0f} GFlop/s here: where a machine runs that closer to its peak, the "
        "ratios to dense attention and to the peers are smaller.",
        _table(["", *(f"{tokens:,}" for tokens in lengths)], rows),
    )


def _growing(numbers: Numbers) -> list[str]:
    return list(dict.fromkeys(row["pattern"] for row in numbers.given["growth"]))


def _grown(numbers: Numbers, pattern: str) -> list[dict[str, Any]]:
    return [row for row in numbers.given["growth"] if row["pattern"] == pattern]


def _factors(numbers: Numbers) -> list[tuple[str, int, float]]:
    """By pattern and length, the time in that of half the length."""
    return [
        (pattern, b["tokens"], b["best"] / a["best"])
        for pattern in _growing(numbers)
        for a, b in itertools.pairwise(_grown(numbers, pattern))
    ]


def _growth(numbers: Numbers) -> Iterable[str]:
    factors = {(pattern, tokens): factor for pattern, tokens, factor in _factors(numbers)}
    lengths = sorted({row["tokens"] for row in numbers.given["growth"]})
    rows = []
    for pattern in _growing(numbers):
        cells = []
        for row in _grown(numbers, pattern):
            factor = factors.get((pattern, row["tokens"]))
            cells.append(f"{1e3 * row['best']:,.1f}" + (f" (×{factor:.2f})" if factor else ""))
        rows.append([pattern, *cells])
    return (
        "### Growth",
        f"Ours, {BOTH}, one thread: ms of the processor, and times those of half the length, for patterns whose pairs "
        "grow as the tokens do.",
        _table(["", *(f"{tokens:,}" for tokens in lengths)], rows),
    )


def _memory(numbers: Numbers) -> Iterable[str]:
    rows = [
        [
            row["pattern"], row["contender"], f"{row['tokens']:,}", BOTH if row["can_train"] else FORWARD,
            f"{row['inputs_mib']:.0f}", f"{row['step_mib']:,.0f}", f"{row['peak_mib']:,.0f}",
        ]
        for row in numbers.given["memory"]
    ]  # fmt: skip
    return (
        "### Memory",
        "MiB, each in a process of its own. *Tensors*: q, k, v, and what flows back. *A step adds*: its peak over what "
        "the process holds between steps. *Whole process*: the most it ever held, with Python, PyTorch, compiling, "
        "making the pattern and planning.",
        _table(["pattern", "", "tokens", "way", "tensors", "a step adds", "whole process"], rows),
    )


def _agreement(numbers: Numbers) -> Iterable[str]:
    compared = numbers.given["compared"]
    rows = [
        [
            row["pattern"],
            row["contender"],
            f"{row['outputs']:.1e}",
            f"{row['gradients']:.1e}" if "gradients" in row else "",
        ]
        for row in compared["rows"]
    ]
    return (
        "### Agreement",
        f"Those that are the same function (local-attention that of a window without global tokens), at "
        f"{compared['tokens']:,} tokens: the greatest difference to ours, relative to the greatest number where that "
        "is above 1.",
        _table(["pattern", "", "outputs", "gradients"], rows),
    )


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
