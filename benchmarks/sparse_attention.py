"""Sparse attention beside its peers: time on one thread and on two, growth with the length, memory, share of sgemm.

Time on one thread is the processor's, which others on the machine change little; on two threads it is the clock's.
"""

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import torch
from torch import Tensor

from anyformer.attention import explain, sparse_attention
from benchmarks.attention_cases import BIRD, CASES, HEAD_SIZE, HEADS, WINDOW, Case, pattern
from benchmarks.attention_numbers import BOTH, FORWARD, SGEMM, SGEMM_BY_TORCH
from benchmarks.interleave import Program, interleave, timed
from benchmarks.machine import THREADS, instructions, sgemm, sgemm_library
from benchmarks.peers import names
from benchmarks.peers.attention import Contender, contenders, dense, heads_first, in_its_layout, name_of
from benchmarks.results import Size
from benchmarks.sparse_attention_page import MAIN, render, render_in_full

__all__ = ["measure", "render", "render_in_full"]

LENGTHS: Final = {Size.FULL: (512, 1024, 2048, 4096, 8192, 16_384), Size.QUICK: (512, 1024)}
ON_TWO_THREADS: Final = {Size.FULL: (1024, 4096), Size.QUICK: (1024,)}
GROWTH: Final = {Size.FULL: (2048, 4096, 8192, 16_384, 32_768, 65_536), Size.QUICK: (512, 1024)}
ROUNDS: Final = {Size.FULL: 7, Size.QUICK: 2}
ENOUGH: Final = {Size.FULL: 1.0, Size.QUICK: 0.2}  # seconds of timed calls of one program
ENOUGH_AT_MAIN: Final = 2.0  # where most is claimed
COMPARED: Final = 1024  # tokens at which all that are the same function are compared
# Sums of float32 in other orders: a thousand keys, weights and values near 1, gradients of hubs near 100.
AGREEMENT: Final = {"outputs": 1e-5, "gradients": 1e-5}
PRODUCTS: Final = (512, 1024, 2048)
MEMORY: Final = {
    Size.FULL: (
        *((case, names.OURS, 65_536) for case in CASES),
        *((WINDOW, name, 8192) for name in (names.OURS, names.GATHER, names.LONGFORMER, names.LOCAL, names.DENSE)),
        *((BIRD, name, 8192) for name in (names.OURS, names.BIG_BIRD)),
    ),
    Size.QUICK: ((WINDOW, names.OURS, 1024), (BIRD, names.BIG_BIRD, 1024)),
}


@final
@dataclass(frozen=True, eq=False)
class Entry:
    """A contender on a pattern, or on none if it computes all pairs."""

    pattern: str
    contender: Contender


def measure(size: Size, beside: Path | None = None) -> dict[str, Any]:
    """Everything; `beside` is a file with one more contender (`benchmarks/peers/attention.py`)."""
    torch.manual_seed(0)
    with _threads(1):
        compared = _compared(beside)
        growth = [row for case in CASES if case.is_linear for row in _growth(case, size)]
    rows = [row for tokens in LENGTHS[size] for row in _at_length(tokens, size, beside)]
    return {
        "heads": HEADS,
        "head_size": HEAD_SIZE,
        "instructions": instructions(),
        "sgemm_library": sgemm_library(),
        "beside": name_of(beside) if beside else None,
        "compared": {"tokens": COMPARED, "rows": compared},
        "patterns": [_counted(case, tokens) for case in CASES for tokens in LENGTHS[size]],
        "rows": rows,
        "growth": growth,
        "memory": [_in_a_process(*each) for each in MEMORY[size]],
    }


@contextmanager
def _threads(count: int) -> Iterator[None]:
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(count)
    with threadpool_limits(count, user_api="blas"):
        yield


def _counted(case: Case, tokens: int) -> dict[str, Any]:
    work = explain(pattern(case, tokens), tokens)
    return {
        "pattern": case.name,
        "tokens": tokens,
        "pairs": work.connections,
        "executed": work.executed,
    }


def _at_length(tokens: int, size: Size, beside: Path | None) -> Iterator[dict[str, Any]]:
    entries = [Entry("", make()) for make in dense(tokens).values()]
    entries += [Entry(case.name, make()) for case in CASES for make in contenders(case, tokens, beside).values()]
    tensors = torch.randn(4, 1, HEADS, tokens, HEAD_SIZE).unbind()
    ways = [(1, FORWARD), (1, BOTH), *([(THREADS, BOTH)] if tokens in ON_TWO_THREADS[size] else [])]
    for threads, way in ways:
        with _threads(threads):
            for row in _interleaved(entries, tensors, way, threads, size):
                yield {"tokens": tokens, "threads": threads, "way": way, **row}
    del entries
    gc.collect()


def _interleaved(
    entries: list[Entry], tensors: tuple[Tensor, ...], way: str, threads: int, size: Size
) -> Iterator[dict[str, Any]]:
    able = [entry for entry in entries if way == FORWARD or entry.contender.can_train]
    programs = [Program(entry.contender.name, _call(entry.contender, way, *tensors)) for entry in able]
    clock = time.process_time if threads == 1 else time.perf_counter
    # The first call compiles, plans and loads. Dense attention does nothing of the kind.
    first = [0.0 if entry.pattern == "" else timed(p.call) for entry, p in zip(able, programs, strict=True)]
    product, flops = sgemm(PRODUCTS)
    product_by_torch, flops_by_torch = _product_by_torch(PRODUCTS[1])
    enough = ENOUGH_AT_MAIN if tensors[0].shape[2] == MAIN else ENOUGH[size]
    *timings, peak, peak_by_torch = interleave([*programs, product, product_by_torch], ROUNDS[size], clock, enough)
    for entry, timing, seconds in zip(able, timings, first, strict=True):
        yield {
            "pattern": entry.pattern, "contender": entry.contender.name, **timing.as_json(), "first_call": seconds
        }  # fmt: skip
        where = f"{tensors[0].shape[2]} tokens, {way}, {threads} threads, {entry.pattern}"
        print(f"sparse_attention: {where}, {entry.contender.name}: {1e3 * timing.best:.2f} ms", flush=True)
    yield {"pattern": "", "contender": SGEMM, **peak.as_json(), "flops": flops}
    yield {"pattern": "", "contender": SGEMM_BY_TORCH, **peak_by_torch.as_json(), "flops": flops_by_torch}


def _product_by_torch(size: int) -> tuple[Program, float]:
    """What PyTorch's own dense attention is made of."""
    a, b = torch.randn(2, size, size)
    return Program(f"torch.mm {size}", lambda: torch.mm(a, b)), 2.0 * size**3


def _call(contender: Contender, way: str, q: Tensor, k: Tensor, v: Tensor, back: Tensor) -> Callable[[], Any]:
    """Forward without a graph, or forward and the gradients of q, k and v."""
    given = [in_its_layout(contender, x) for x in (q, k, v)]
    if way == FORWARD:
        return torch.no_grad()(lambda: contender.call(*given))
    leaves = [x.clone().requires_grad_() for x in given]
    its_back = in_its_layout(contender, back)
    return lambda: torch.autograd.grad(contender.call(*leaves), leaves, its_back)


def _compared(beside: Path | None) -> list[dict[str, Any]]:
    """How far those that are the same function as ours are from it."""
    tensors, found = torch.randn(4, 1, HEADS, COMPARED, HEAD_SIZE).unbind(), []
    entries = [Entry(WINDOW.name, make()) for make in dense(COMPARED).values()]
    entries += [Entry(case.name, make()) for case in CASES for make in contenders(case, COMPARED, beside).values()]
    for entry in entries:
        its = entry.contender.same_as
        if its is None or entry.contender.name == names.OURS:
            continue
        ours = Contender(names.OURS, lambda q, k, v, its=its: sparse_attention(q, k, v, its), its)
        apart = {"outputs": _apart(ours, entry.contender, FORWARD, tensors)}
        if entry.contender.can_train:
            apart["gradients"] = _apart(ours, entry.contender, BOTH, tensors)
        for what, difference in apart.items():
            assert difference <= AGREEMENT[what], (entry, what, difference)
        found.append({"pattern": entry.pattern, "contender": entry.contender.name, **apart})
    return found


def _apart(ours: Contender, other: Contender, way: str, tensors: tuple[Tensor, ...]) -> float:
    """The greatest difference, relative to the greatest number if that is above 1."""
    pairs = [_call(each, way, *tensors)() for each in (ours, other)]
    expected, got = ([each] if isinstance(each, Tensor) else each for each in pairs)
    return max(
        float((heads_first(other, b) - a).abs().max() / a.abs().max().clamp(min=1.0))
        for a, b in zip(expected, got, strict=True)
    )


def _growth(case: Case, size: Size) -> list[dict[str, Any]]:
    """Ours at all lengths, interleaved: forward and backward on one thread."""
    programs = []
    for tokens in GROWTH[size]:
        ours = contenders(case, tokens)[names.OURS]()
        tensors = torch.randn(4, 1, HEADS, tokens, HEAD_SIZE).unbind()
        programs.append(Program(str(tokens), _call(ours, BOTH, *tensors)))
        programs[-1].call()
    timings = interleave(programs, ROUNDS[size], time.process_time, ENOUGH[size])
    found = []
    for tokens, timing in zip(GROWTH[size], timings, strict=True):
        found.append({**_counted(case, tokens), **timing.as_json()})
        print(f"sparse_attention: growth, {case.name}, {tokens} tokens: {1e3 * timing.best:.1f} ms", flush=True)
    return found


def _in_a_process(case: Case, name: str, tokens: int) -> dict[str, Any]:
    """The peak of the memory is this call's own."""
    command = [sys.executable, "-m", "benchmarks.attention_memory", case.name, name, str(tokens)]
    found = dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    print(f"sparse_attention: memory, {found}", flush=True)
    return found
