"""The memory of one way to attend, in a process of its own: `python -m benchmarks.attention_memory star ours 4096`."""

import ctypes
import gc
import json
import sys
from typing import Any

import torch
from torch import Tensor

from benchmarks.attention_cases import CASES, HEAD_SIZE, HEADS, Case
from benchmarks.machine import forget_peak, mib
from benchmarks.peers.attention import Contender, contenders, dense

SHORT = 1024


def main(pattern: str, name: str, tokens: int) -> dict[str, Any]:
    """Two steps of forward and, if it can, backward; what the second adds is what every later one adds.

    A few tokens come first, so that compiling is over. The first step at this length makes what it needs to know of the
    pattern, and keeps it.
    """
    torch.set_num_threads(1)
    case = next(case for case in CASES if case.name == pattern)
    start = mib("VmRSS")
    short = _contender(case, name, SHORT)
    _step(short, _tensors(short, SHORT))
    contender = _contender(case, name, tokens)
    tensors = _tensors(contender, tokens)
    _step(contender, tensors)
    peak = mib("VmHWM")
    _give_back()
    forget_peak()
    held = mib("VmRSS")
    _step(contender, tensors)
    return {
        "pattern": pattern,
        "contender": name,
        "tokens": tokens,
        "can_train": contender.can_train,
        "inputs_mib": sum(x.numel() * x.element_size() for x in tensors) / 2**20,
        "start_mib": start,
        "step_mib": mib("VmHWM") - held,
        "peak_mib": max(peak, mib("VmHWM")),
    }


def _contender(case: Case, name: str, tokens: int) -> Contender:
    return {**dense(tokens), **contenders(case, tokens)}[name]()


def _tensors(contender: Contender, tokens: int) -> list[Tensor]:
    """q, k, v, and what flows back if it trains."""
    shape = (1, tokens, HEADS * HEAD_SIZE) if contender.tokens_first else (1, HEADS, tokens, HEAD_SIZE)
    trains = contender.can_train
    return [torch.randn(shape, requires_grad=trains) for _ in range(3)] + ([torch.randn(shape)] if trains else [])


def _step(contender: Contender, tensors: list[Tensor]) -> None:
    q, k, v, *back = tensors
    out = contender.call(q, k, v)
    if back:
        torch.autograd.grad(out, (q, k, v), back)


def _give_back() -> None:
    """What was freed goes back to the system, so that the next step has to ask for it again."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
