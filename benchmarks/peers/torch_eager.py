"""PyTorch as it comes: a Python loop over layers, with fused products, in place, in inference mode.

Tokens as rows are how everybody writes it; tokens as columns make the products long and thin the other way, and one
thread can beat two on matrices this small. All of them are tried.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from anyformer.arrays import Array
from benchmarks.cases import Case
from benchmarks.interleave import Program
from benchmarks.machine import THREADS
from benchmarks.peers.augmented import augmented_inputs, augmented_weights

USUAL = f"rows, {THREADS} threads"


def programs(case: Case, only: frozenset[str]) -> Iterator[Program]:
    """Four ways to write it, with one thread and with two."""
    for threads in (THREADS, 1):
        for layout, make in WAYS.items():
            name = f"{layout}, {threads} thread{'s' if threads > 1 else ''}"
            if not only or name in only:
                call, read = make(case)
                yield Program(name, _with_threads(call, threads), read, is_usual=name == USUAL)


def _with_threads(call: Callable[[], Tensor], threads: int) -> Callable[[], Tensor]:
    def with_threads() -> Tensor:
        torch.set_num_threads(threads)
        with torch.inference_mode():
            return call()

    return with_threads


Way = tuple[Callable[[], Tensor], Callable[[Tensor], Array]]


def _rows(case: Case) -> Way:
    stage, x = case.stage, torch.tensor(case.inputs)
    W_1, W_2 = _layers(stage.W_1.swapaxes(1, 2)), _layers(stage.W_2.swapaxes(1, 2))
    b_1, b_2 = _layers(stage.b_1), _layers(stage.b_2)

    def call() -> Tensor:
        state = x.clone()
        for weights_1, bias_1, weights_2, bias_2 in zip(W_1, b_1, W_2, b_2, strict=True):
            hidden = torch.addmm(bias_1, state, weights_1).relu_()
            state.addmm_(hidden, weights_2).add_(bias_2)
        return state

    return call, Tensor.numpy


def _columns(case: Case) -> Way:
    stage, x = case.stage, torch.tensor(case.inputs.T.copy())
    W_1, W_2 = _layers(stage.W_1), _layers(stage.W_2)
    b_1, b_2 = _layers(stage.b_1[:, :, None]), _layers(stage.b_2[:, :, None])

    def call() -> Tensor:
        state = x.clone()
        for weights_1, bias_1, weights_2, bias_2 in zip(W_1, b_1, W_2, b_2, strict=True):
            hidden = torch.addmm(bias_1, weights_1, state).relu_()
            state.addmm_(weights_2, hidden).add_(bias_2)
        return state

    return call, lambda state: state.numpy().T


def _augmented_rows(case: Case) -> Way:
    both = augmented_weights(case.stage)
    W_1, W_2 = (_layers(weights.swapaxes(1, 2)) for weights in both)
    x = torch.tensor(augmented_inputs(case.inputs))
    hidden = torch.empty((len(x), both[0].shape[1]), dtype=torch.float64)

    def call() -> Tensor:
        state = x.clone()
        for weights_1, weights_2 in zip(W_1, W_2, strict=True):
            torch.mm(state, weights_1, out=hidden).relu_()
            state.addmm_(hidden, weights_2)
        return state

    return call, lambda state: state.numpy()[:, : case.width]


def _augmented_columns(case: Case) -> Way:
    both = augmented_weights(case.stage)
    W_1, W_2 = (_layers(weights) for weights in both)
    x = torch.tensor(augmented_inputs(case.inputs).T.copy())
    hidden = torch.empty((both[0].shape[1], x.shape[1]), dtype=torch.float64)

    def call() -> Tensor:
        state = x.clone()
        for weights_1, weights_2 in zip(W_1, W_2, strict=True):
            torch.mm(weights_1, state, out=hidden).relu_()
            state.addmm_(weights_2, hidden)
        return state

    return call, lambda state: state.numpy().T[:, : case.width]


def _layers(weights: Array) -> tuple[Tensor, ...]:
    """One contiguous tensor a layer, taken apart before the clock starts."""
    return torch.tensor(np.ascontiguousarray(weights)).unbind()


WAYS = {
    "rows": _rows,
    "columns": _columns,
    "rows, biases in the matrices": _augmented_rows,
    "columns, biases in the matrices": _augmented_columns,
}
