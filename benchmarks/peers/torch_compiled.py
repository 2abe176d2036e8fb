"""torch.compile of a few dozen layers at once, called again and again with other weights; and its scan.

With matrix products it calls BLAS for every layer. Written out as sums of numbers times rows of tokens, the whole
chunk becomes one loop over the tokens: much faster, and a minute to compile.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor

from anyformer.arrays import Array
from benchmarks.cases import HIDDEN, Case
from benchmarks.interleave import Program
from benchmarks.machine import THREADS

# Chunks of about as many operations; compiling takes a time that grows with them.
CHUNKS = {1: 100, 2: 50, 3: 25, 4: 25}
QUICK_CHUNK = 2


def programs(case: Case, only: frozenset[str]) -> Iterator[Program]:
    """Chunks written out, chunks of matrix products, chunks of broadcast sums, and a scan."""
    chunk = CHUNKS[case.width] if case.layers >= 5000 else QUICK_CHUNK
    ways: dict[str, Callable[[Case, int], Callable[[], Tensor]]] = {
        f"{chunk} layers of matrix products a graph": _products,
        f"{chunk} layers written out a graph": _written_out,
        f"{chunk} layers of broadcast sums a graph": _sums,
        "scan": _scan,
    }
    for name, make in ways.items():
        if not only or any(name.endswith(end) for end in only):
            yield Program(
                name, _inference(make(case, chunk)), lambda state: state.numpy().T, is_usual=make is _products
            )


def _inference(call: Callable[[], Tensor]) -> Callable[[], Tensor]:
    def inference() -> Tensor:
        torch.set_num_threads(THREADS)
        with torch.inference_mode():
            return call()

    return inference


@cache
def _compile(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    # A cache from an earlier run would make the compile time look like nothing.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp(prefix="inductor-"))
    torch._dynamo.config.recompile_limit = 64
    torch.set_num_threads(THREADS)
    return torch.compile(function, dynamic=False, fullgraph=True)


def _chunked(function: Callable[..., Tensor], x: Array, weights: list[Array], chunk: int) -> Callable[[], Tensor]:
    compiled, inputs = _compile(function), torch.tensor(x)
    parts = [torch.tensor(each.reshape(len(each) // chunk, chunk, *each.shape[1:])).unbind() for each in weights]

    def call() -> Tensor:
        state = inputs
        for some in zip(*parts, strict=True):
            state = compiled(state, *some)
        return state

    return call


def _products(case: Case, chunk: int) -> Callable[[], Tensor]:
    return _chunked(_product_layers, case.inputs.T.copy(), _column_weights(case), chunk)


def _product_layers(state: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    for k in range(len(W_1)):
        state = state + W_2[k] @ (W_1[k] @ state + b_1[k]).relu() + b_2[k]
    return state


def _sums(case: Case, chunk: int) -> Callable[[], Tensor]:
    return _chunked(_sum_layers, case.inputs.T.copy(), _column_weights(case), chunk)


def _sum_layers(state: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    for k in range(len(W_1)):
        hidden = ((W_1[k][:, :, None] * state).sum(1) + b_1[k]).relu()
        state = state + (W_2[k][:, :, None] * hidden).sum(1) + b_2[k]
    return state


def _written_out(case: Case, chunk: int) -> Callable[[], Tensor]:
    stage, flat = case.stage, (case.layers, -1)
    return _chunked(
        _written_out_layers,
        case.inputs.T.copy(),
        [stage.W_1.reshape(flat), stage.b_1, stage.W_2.reshape(flat), stage.b_2],
        chunk,
    )


def _written_out_layers(state: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    rows = list(state.unbind())
    for k in range(len(W_1)):
        hidden = [each.relu() for each in _sums_of_rows(W_1[k], b_1[k], rows)]
        rows = [row + move for row, move in zip(rows, _sums_of_rows(W_2[k], b_2[k], hidden), strict=True)]
    return torch.stack(rows)


def _sums_of_rows(weights: Tensor, biases: Tensor, rows: list[Tensor]) -> list[Tensor]:
    """b_i + Σ_j W_ij·row_j for every i; the weights lie in one row."""
    numbers, sums = weights.unbind(), []
    for i, total in enumerate(biases.unbind()):
        for j, row in enumerate(rows):
            total = total + numbers[i * len(rows) + j] * row
        sums.append(total)
    return sums


def _scan(case: Case, chunk: int) -> Callable[[], Tensor]:
    from torch._higher_order_ops.scan import scan

    def step(state: Tensor, weights: list[Tensor]) -> tuple[Tensor, Tensor]:
        W_1, b_1, W_2, b_2 = weights
        hidden = ((W_1[:, :, None] * state).sum(1) + b_1).relu()
        state = state + (W_2[:, :, None] * hidden).sum(1) + b_2
        return state, state[:1, :1].clone()  # a scan must return something a step; as little as it can

    def through(state: Tensor, weights: list[Tensor]) -> Tensor:
        carried: Any = scan(step, state, weights)[0]
        return carried

    compiled, inputs = _compile(through), torch.tensor(case.inputs.T.copy())
    weights = [torch.tensor(each) for each in _column_weights(case)]
    return lambda: compiled(inputs, weights)


def _column_weights(case: Case) -> list[Array]:
    stage = case.stage
    assert stage.sizes["hidden_size"] == HIDDEN
    return [stage.W_1, stage.b_1[:, :, None], stage.W_2, stage.b_2[:, :, None]]
